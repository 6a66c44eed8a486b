/**
 * Four threads that sleep for a millisecond and compute for three, in turn, for as many milliseconds as the argument says: a look at
 * one of them often finds it somewhere else than the look before. None of them sleeps in `computes`.
 */
public class Steps {
    static volatile double sink;

    static void computes() {
        long end = System.nanoTime() + 3_000_000;
        double x = 1;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1_000; i++) x = x * 1.0000001 + 0.5;
        }
        sink = x;
    }

    static void sleeps() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void run(long end) {
        while (System.nanoTime() < end) {
            computes();
            sleeps();
        }
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + Long.parseLong(args[0]) * 1_000_000;
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> run(end), "steps-" + i);
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
    }
}
