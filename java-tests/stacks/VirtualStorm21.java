import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/**
 * Known answer: virtual threads come and go for the milliseconds of the first argument, 100 at a time. Each allocates
 * under recursion while it parks, yields, is pinned to its carrier by a monitor or by a class that is being initialized,
 * and overflows its stack. Prints `stormed`, and the numbers of threads and of overflows, each of which is caught.
 */
public class VirtualStorm21 {
    static final AtomicLong threads = new AtomicLong(), overflows = new AtomicLong();
    static final int OVERFLOWS = 3;
    static final int[] CALM = {0, 1, 2, 4, 5};
    static volatile Object kept;

    static int below(int depth, int kind) {
        Object[] made = new Object[depth % 7 + 1];
        kept = made;
        if (depth > 0) return below(depth - 1, kind) + made.length;
        return act(kind);
    }

    static int act(int kind) {
        switch (kind) {
            case 0 -> LockSupport.parkNanos(50_000);
            case 1 -> Thread.yield();
            case 2 -> {
                synchronized (new Object()) {
                    kept = new byte[32];
                    LockSupport.parkNanos(20_000);
                    kept = new byte[32];
                }
            }
            case OVERFLOWS -> overflow();
            case 4 -> kept = String.valueOf(ThreadLocalRandom.current().nextInt()).repeat(3);
            default -> kept = ((java.util.function.Supplier<Object>) () -> new int[kind]).get();
        }
        kept = new long[3];
        return kind;
    }

    static void overflow() {
        try {
            forever(0);
        } catch (StackOverflowError expected) {
            overflows.incrementAndGet();
            kept = new char[5];
        }
    }

    static int forever(int depth) {
        if (depth % 50 == 0) kept = new Integer[3];
        return forever(depth + 1) + 1;
    }

    static void live() {
        ThreadLocalRandom random = ThreadLocalRandom.current();
        for (int round = 0; round < 8; round++) below(random.nextInt(20), random.nextInt(400) == 0 ? OVERFLOWS : CALM[round % CALM.length]);
        threads.incrementAndGet();
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        do {
            Thread[] all = new Thread[100];
            for (int i = 0; i < all.length; i++) all[i] = Thread.startVirtualThread(VirtualStorm21::live);
            for (Thread thread : all) thread.join();
            if (ThreadLocalRandom.current().nextInt(10) == 0) System.gc();
        } while (System.nanoTime() < end || overflows.get() == 0);
        System.out.println("stormed " + threads + " " + overflows);
    }
}
