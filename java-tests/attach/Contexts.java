import java.io.File;

/**
 * Four threads call two methods in all orders, 12 calls deep, and want the same lock and allocate in between, until there is a file
 * `end` in the working folder. Says `ready` when they run, and `end` when they have ended.
 *
 * Truth: each thread is in 8,190 contexts of `left` and `right`, and the threads outlive every profile.
 */
public class Contexts {
    static final int DEPTH = 12;
    static final Object LOCK = new Object();
    static volatile boolean ends;
    static volatile Object sink;
    static volatile int result;

    static int left(int depth, int path) {
        return depth == 1 ? 1 : further(depth - 1, path);
    }

    static int right(int depth, int path) {
        return depth == 1 ? 2 : further(depth - 1, path);
    }

    static int further(int depth, int path) {
        return (path >> depth & 1) == 0 ? left(depth, path) : right(depth, path);
    }

    static void call() {
        while (!ends) {
            for (int path = 0; path < 2 << DEPTH; path++) {
                result += further(DEPTH, path);
            }
            synchronized (LOCK) {
                sink = new int[10];
            }
        }
    }

    public static void main(String[] args) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(Contexts::call);
            threads[i].start();
        }
        System.out.println("ready");
        while (!new File("end").exists()) {
            Thread.sleep(20);
        }
        ends = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("end");
    }
}
