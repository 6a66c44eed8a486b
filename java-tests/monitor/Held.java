import java.util.concurrent.locks.ReentrantLock;

/**
 * A monitor and a ReentrantLock, each held by `mostly` for 70 % of the time and by `partly` for 30 %, while `want` waits
 * for it. Prints how long each held it, in ms.
 */
public class Held {
    static final Object monitor = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static volatile boolean over;

    public static void main(String[] args) throws Exception {
        long cycles = args.length > 0 ? Long.parseLong(args[0]) : 40;
        Thread[] wanting = {
            new Thread(() -> wantAll(Held::wantMonitor), "wants-monitor"),
            new Thread(() -> wantAll(Held::wantLock), "wants-lock"),
        };
        Thread[] holding = {
            new Thread(() -> hold("monitor", cycles, Held::mostlyMonitor, Held::partlyMonitor), "holds-monitor"),
            new Thread(() -> hold("lock", cycles, Held::mostlyLock, Held::partlyLock), "holds-lock"),
        };
        for (Thread thread : holding) thread.start();
        for (Thread thread : wanting) thread.start();
        for (Thread thread : holding) thread.join();
        over = true;
        for (Thread thread : wanting) thread.join();
    }

    interface Hold {
        long hold();
    }

    static void hold(String what, long cycles, Hold mostly, Hold partly) {
        long most = 0, part = 0;
        for (long i = 0; i < cycles; i++) {
            most += mostly.hold();
            part += partly.hold();
        }
        System.out.println(what + " mostly " + most / 1_000_000 + " partly " + part / 1_000_000);
    }

    static void wantAll(Runnable want) {
        while (!over) want.run();
    }

    static void wantMonitor() {
        synchronized (monitor) {
        }
    }

    static void wantLock() {
        lock.lock();
        lock.unlock();
    }

    static long mostlyMonitor() {
        synchronized (monitor) {
            return sleep(70);
        }
    }

    static long partlyMonitor() {
        synchronized (monitor) {
            return sleep(30);
        }
    }

    static long mostlyLock() {
        lock.lock();
        try {
            return sleep(70);
        } finally {
            lock.unlock();
        }
    }

    static long partlyLock() {
        lock.lock();
        try {
            return sleep(30);
        } finally {
            lock.unlock();
        }
    }

    /** Returns the time it took, in ns. */
    static long sleep(long millis) {
        long began = System.nanoTime();
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        return System.nanoTime() - began;
    }
}
