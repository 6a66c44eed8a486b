import java.util.concurrent.locks.ReentrantLock;

/*
 * Computes in `before`, `slow` and `after`, for the number of milliseconds that the argument says each. While `slow` computes it
 * holds a lock for which the thread "waiter" waits in `wants`. Prints the time, in milliseconds since 1970, at which each of them
 * begins, and at which the last one ends.
 */
class Phases {
    static final ReentrantLock lock = new ReentrantLock();
    static volatile long sink;

    public static void main(String[] arguments) throws InterruptedException {
        long millis = Long.parseLong(arguments[0]);
        System.out.println(System.currentTimeMillis());
        before(millis);
        lock.lock();
        Thread waiter = new Thread(Phases::wants, "waiter");
        waiter.start();
        System.out.println(System.currentTimeMillis());
        slow(millis);
        lock.unlock();
        System.out.println(System.currentTimeMillis());
        after(millis);
        System.out.println(System.currentTimeMillis());
        waiter.join();
    }

    static void wants() {
        lock.lock();
        lock.unlock();
    }

    static void before(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) sink += 1;
    }

    static void slow(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) sink += 3;
    }

    static void after(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) sink += 5;
    }
}
