import java.util.concurrent.CountDownLatch;

/**
 * Two threads for each processor that compute, and one that sleeps: the former have a processor for the time by their own clocks, and could run
 * without one for the rest.
 */
public class Starved {
    static final CountDownLatch BEGIN = new CountDownLatch(1);
    static long running, runnable, sleeping;

    static void spin(long nanos) {
        double x = 1;
        long end = System.nanoTime() + nanos;
        while (System.nanoTime() < end) for (int i = 0; i < 1_000; i++) x = x * 1.0000001 + 0.5;
        Truth.sink = x;
    }

    static void doze(int millis) throws InterruptedException { Thread.sleep(millis); }

    static void body(int millis, boolean sleeps) {
        try {
            BEGIN.await();
            long start = System.nanoTime();
            if (sleeps) {
                doze(millis);
                synchronized (BEGIN) { sleeping += System.nanoTime() - start; }
                return;
            }
            long cpu = Truth.now();
            spin(millis * 1_000_000L);
            cpu = Truth.now() - cpu;
            long nanos = System.nanoTime() - start;
            synchronized (BEGIN) {
                running += cpu;
                runnable += nanos - cpu;
            }
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        int millis = Truth.scaled(2_500);
        Thread[] threads = new Thread[3 * Runtime.getRuntime().availableProcessors()];
        for (int i = 0; i < threads.length; i++) {
            boolean sleeps = i % 3 == 0;
            threads[i] = new Thread(() -> body(millis, sleeps));
            threads[i].start();
        }
        BEGIN.countDown();
        for (Thread thread : threads) thread.join();
        Truth.ready();
        Truth.say("wall", "Starved.spin", "-", running + runnable);
        Truth.say("wall", "Starved.doze", "-", sleeping);
        Truth.say("state", "Starved.spin", "running", running);
        Truth.say("state", "Starved.spin", "runnable", runnable);
        Truth.say("state", "Starved.doze", "sleeping", sleeping);
        Truth.say("awake", "Starved.spin", "awake", running + runnable);
        Truth.say("awake", "Starved.doze", "asleep", sleeping);
    }
}
