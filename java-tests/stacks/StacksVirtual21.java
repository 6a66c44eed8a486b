// Virtual threads that make objects: right when they begin, before and after they were unmounted, on deep stacks whose
// lower frames are not yet back, while they hold a monitor, and under frames of native methods, which pin them.
//
// Arguments: for how many milliseconds.

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

public class StacksVirtual21 {
    static volatile Object sink;
    static final Object MONITOR = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final Method REFLECTED;

    static {
        try {
            REFLECTED = StacksVirtual21.class.getDeclaredMethod("down", SplittableRandom.class, int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** A native method on the stack pins the thread. */
    static class Pinned {
        static final Object MADE = new int[] {1};

        static {
            Thread.yield();
            sink = new StringBuilder("made while pinned");
        }
    }

    static Object down(SplittableRandom random, int depth) throws ReflectiveOperationException, InterruptedException {
        if (depth <= 0) {
            switch (random.nextInt(5)) {
                case 0: Thread.yield(); break;
                case 1: LockSupport.parkNanos(1_000); break;
                case 2: Thread.sleep(1); break;
                case 3:
                    synchronized (MONITOR) {
                        sink = new Object[1];
                        Thread.yield();
                    }
                    break;
                default:
            }
            return new Object();
        }
        Object inner;
        switch (random.nextInt(4)) {
            case 0:
                inner = REFLECTED.invoke(null, random, depth - 1);
                break;
            case 1:
                LOCK.lock();
                try {
                    inner = new int[depth & 3];
                } finally {
                    LOCK.unlock();
                }
                sink = down(random, depth - 1);
                break;
            default:
                inner = down(random, depth - 1);
        }
        return new Object[] {inner};
    }

    static void run(long seed) {
        sink = new long[] {seed};
        SplittableRandom random = new SplittableRandom(seed);
        try {
            for (int i = 0; i < 20; i++) {
                sink = down(random, random.nextInt(10) == 0 ? 200 : random.nextInt(8));
                sink = Pinned.MADE;
            }
        } catch (ReflectiveOperationException | InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        for (long seed = 0; System.nanoTime() < end; ) {
            List<Thread> threads = new ArrayList<>();
            for (int i = 0; i < 50; i++) {
                long own = seed++;
                threads.add(Thread.ofVirtual().start(() -> run(own)));
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.out.println("ended");
    }
}
