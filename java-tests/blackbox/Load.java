import java.util.ArrayList;
import java.util.List;

/**
 * Works until it is killed: allocates, collects garbage, uses the CPU and contends for a monitor.
 *
 * It says "making N" before it makes its objects up to the Nth, so there are never more `Load$Item` than the last line
 * says, of which at most 50,000 are alive, and "kept" once the first garbage collection is over. With an argument it
 * ends by itself when a file of that name exists.
 */
public class Load {
    static final class Item {
        long a, b;
    }

    static final int BATCH = 1_000;
    static final int KEPT = 50_000;
    static final Object lock = new Object();
    static volatile long sink;

    public static void main(String[] arguments) throws Exception {
        java.io.File end = arguments.length > 0 ? new java.io.File(arguments[0]) : null;
        for (int number = 0; number < 2; number++) {
            Thread thread = new Thread(Load::contend, "contender-" + number);
            thread.setDaemon(true);
            thread.start();
        }
        List<Item> kept = new ArrayList<>();
        for (long made = 0; end == null || !end.exists(); made += BATCH) {
            System.out.println("making " + (made + BATCH));
            if (kept.size() >= KEPT) {
                kept = new ArrayList<>();
            }
            make(kept);
            sink += burn();
            if (made % (20 * BATCH) == 0) {
                System.gc();
                System.out.println("kept");
            }
        }
    }

    static void make(List<Item> kept) {
        for (int number = 0; number < BATCH; number++) {
            kept.add(new Item());
        }
    }

    static long burn() {
        long sum = 0;
        for (int number = 0; number < 1_000_000; number++) {
            sum += number * 31L ^ sum;
        }
        return sum;
    }

    static void contend() {
        while (true) {
            synchronized (lock) {
                sink += burn();
            }
        }
    }
}
