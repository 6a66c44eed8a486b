import java.util.concurrent.CyclicBarrier;

/**
 * 50 threads, `worker-0` to `worker-49`, start to allocate at the same moment. Known answer, a thread: 2,000 live
 * `AllocThreads$Kept` (100,000 in all), 3,000 dead `AllocThreads$Dropped` (150,000 in all), and, for thread number i,
 * 10 * (i + 1) live objects of `AllocThreads$Own0` where i % 3 is 0 (4,250 in all), of `Own1` where it is 1 (4,420)
 * and of `Own2` where it is 2 (4,080). Prints `threads 50`.
 */
public class AllocThreads {
    static class Kept { long a; }
    static class Dropped { int x; }
    static class Own0 { }
    static class Own1 { }
    static class Own2 { }

    static final int THREADS = 50;
    static final Object[][] KEEP = new Object[THREADS][];

    /** Volatile: objects that are stored here are allocated, whatever the compiler thinks of them. */
    static volatile Object sink;

    static void work(int number, CyclicBarrier barrier) {
        Object[] keep = new Object[2_000 + 10 * (number + 1)];
        KEEP[number] = keep;
        try {
            barrier.await();
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
        int kept = 0;
        for (int round = 0; round < 1_000; round++) {
            kept = keepTwo(keep, kept);
            dropThree();
        }
        for (int i = 0; i < 10 * (number + 1); i++) keep[kept++] = own(number);
    }

    static int keepTwo(Object[] keep, int kept) {
        for (int i = 0; i < 2; i++) keep[kept++] = new Kept();
        return kept;
    }

    static void dropThree() {
        for (int i = 0; i < 3; i++) sink = new Dropped();
    }

    static Object own(int number) {
        switch (number % 3) {
            case 0: return new Own0();
            case 1: return new Own1();
            default: return new Own2();
        }
    }

    public static void main(String[] args) throws Exception {
        CyclicBarrier barrier = new CyclicBarrier(THREADS);
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads[i] = new Thread(() -> work(number, barrier), "worker-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        sink = null;
        System.out.println("threads " + THREADS);
    }
}
