import java.util.concurrent.atomic.AtomicLong;

/**
 * Known answer: for the time given (ms) 50 threads at a time allocate, contend for four monitors, wait a little, and end;
 * each is followed by another. Prints on stderr `storm <sum>`, where the sum is the number of threads times 1000 less
 * itself: `storm 0`, whatever the number of threads was. Standard output belongs to the VM's own thread dumps.
 */
public class Storm {
    static final Object[] locks = {new Object(), new Object(), new Object(), new Object()};
    static final AtomicLong done = new AtomicLong();
    static volatile Object sink;

    static void live(int seed) {
        for (int i = 0; i < 1000; i++) {
            sink = new long[16];
            done.incrementAndGet();
            if (i % 50 != 0) continue;
            Object lock = locks[(seed + i) % locks.length];
            synchronized (lock) {
                sink = new int[64];
                try {
                    if (i % 500 == 0) lock.wait(1);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            }
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        Thread[] threads = new Thread[50];
        int started = 0;
        for (int i = 0; i < threads.length; i++) threads[i] = new Thread();
        while (System.nanoTime() < end) {
            for (int i = 0; i < threads.length; i++) {
                if (threads[i].isAlive()) continue;
                int seed = started++;
                threads[i] = new Thread(() -> live(seed), "storm-" + seed);
                threads[i].start();
            }
            Thread.sleep(1);
        }
        for (Thread thread : threads) thread.join();
        System.err.print("storm " + (done.get() - 1000L * started) + "\n");
    }
}
