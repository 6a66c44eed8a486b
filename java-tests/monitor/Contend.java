import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Known answer: two threads fight for one monitor of class Object in `hold`, one waits 200 ms in another. Prints
 * `contended_ms <time between wanting and having the fought-for monitor>`, `waited_ms <time in wait>`, and `done`. With
 * the argument `virtual` the fighters are virtual threads (needs Java 21).
 */
public class Contend {
    static final Object lock = new Object();
    static final Object signal = new Object();
    static final AtomicLong contended = new AtomicLong();
    static long sink;

    static void hold(long millis) {
        long wanted = System.nanoTime();
        synchronized (lock) {
            contended.addAndGet(System.nanoTime() - wanted);
            long end = System.nanoTime() + millis * 1_000_000;
            while (System.nanoTime() < end) sink++;
        }
    }

    /**
     * Often enough that what a busy machine adds in other places is small beside the time measured. Each sleeps before
     * it wants the monitor again: HotSpot lets a thread that has just left one in again before the thread it wakes, and
     * one fighter could go on for a minute while the other waits.
     */
    static void fight(CyclicBarrier start) {
        try {
            start.await();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
        for (int k = 0; k < 60; k++) {
            hold(5);
            try {
                Thread.sleep(1);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static void waitABit() {
        synchronized (signal) {
            long before = System.nanoTime();
            try {
                signal.wait(200);
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            System.out.println("waited_ms " + (System.nanoTime() - before) / 1e6);
        }
    }

    static Thread thread(boolean virtual, String name, Runnable body) throws Exception {
        if (!virtual) return new Thread(body, name);
        Object builder = Thread.class.getMethod("ofVirtual").invoke(null);
        Class<?> type = Class.forName("java.lang.Thread$Builder");
        builder = type.getMethod("name", String.class).invoke(builder, name);
        return (Thread) type.getMethod("unstarted", Runnable.class).invoke(builder, body);
    }

    public static void main(String[] args) throws Exception {
        boolean virtual = args.length > 0 && args[0].equals("virtual");
        CyclicBarrier start = new CyclicBarrier(2);
        Thread[] threads = {
            thread(virtual, "fighter-0", () -> fight(start)),
            thread(virtual, "fighter-1", () -> fight(start)),
            thread(virtual, "waiter", Contend::waitABit),
        };
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println("contended_ms " + contended.get() / 1e6);
        System.out.println("done");
    }
}
