import java.util.ArrayList;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;

/**
 * Runs out of something, in one of these ways:
 *
 * <ul>
 * <li>`die`: fills the heap from `main`, which the error ends with status 1.
 * <li>`catch`: the same, but catches the error, lets go of everything and prints `went on`.
 * <li>`again N`: the same N times, with arrays of 200,000 bytes.
 * <li>`wait`: as `catch`, once there is a file `go` in the working folder; prints `ready` before. `wait N`: with arrays of N
 * bytes.
 * <li>`threads N`: N threads named `filler-0` and so on fill the heap together; each error ends its thread. Prints
 * `ended N`, the threads that ended by one, when all have.
 * <li>`array`: asks for an array that is longer than any VM allows, `large`: for one that is larger than the heap.
 * Both catch the error and print `went on`.
 * </ul>
 *
 * Known answer: what fills the heap are the `Leak$Order` objects that `Leak.order` makes, each with a `byte[20000]` made in its
 * constructor, and `Leak.ORDERS` keeps them. The failed request is made below `Leak.fill`. All else that lives is small.
 */
public class Leak {
    static class Order {
        final Order before;
        final byte[] text;

        Order(Order before) {
            this.before = before;
            text = new byte[length];
        }
    }

    /** The last order by thread. No large array is among what it keeps, for which a collector may have no room early. */
    static final Map<Integer, Order> ORDERS = new ConcurrentHashMap<>();

    static int length = 20_000;

    static Order order(Order before) {
        return new Order(before);
    }

    static void fill(int key) {
        while (true) ORDERS.put(key, order(ORDERS.get(key)));
    }

    static void caught() {
        try {
            fill(0);
        } catch (OutOfMemoryError e) {
            ORDERS.clear();
        }
    }

    /** Waits until all threads have started, for which the heap must have room. */
    static void fillFrom(CountDownLatch begin, int key) {
        try {
            begin.await();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
        fill(key);
    }

    static void together(int count) throws InterruptedException {
        var ended = new java.util.concurrent.atomic.AtomicInteger();
        var threads = new ArrayList<Thread>();
        var begin = new CountDownLatch(1);
        for (int i = 0; i < count; i++) {
            int key = i;
            Thread thread = new Thread(() -> fillFrom(begin, key), "filler-" + i);
            thread.setUncaughtExceptionHandler((failed, error) -> ended.incrementAndGet());
            threads.add(thread);
        }
        for (Thread thread : threads) thread.start();
        begin.countDown();
        for (Thread thread : threads) thread.join();
        ORDERS.clear();
        System.out.println("ended " + ended.get());
    }

    static long large(long length) {
        try {
            return new long[(int) length].length;
        } catch (OutOfMemoryError e) {
            return 0;
        }
    }

    public static void main(String[] args) throws Exception {
        switch (args[0]) {
            case "die":
                fill(0);
                return;
            case "catch":
                caught();
                break;
            case "again":
                length = 200_000;
                for (int i = Integer.parseInt(args[1]); i > 0; i--) caught();
                break;
            case "wait":
                if (args.length > 1) length = Integer.parseInt(args[1]);
                System.out.println("ready");
                while (!new java.io.File("go").exists()) Thread.sleep(20);
                caught();
                break;
            case "threads":
                together(Integer.parseInt(args[1]));
                break;
            case "array":
                large(Integer.MAX_VALUE);
                break;
            case "large":
                large(Runtime.getRuntime().maxMemory() / 8 + 1_000);
                break;
        }
        System.out.println("went on");
    }
}
