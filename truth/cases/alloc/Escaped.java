import java.lang.management.ManagementFactory;

/**
 * Objects that the optimizing compiler need not allocate. The VM decides how many it allocates, so the truth is its own count of the
 * thread's allocated bytes: a profiler must neither show objects that are not there nor prevent the optimization.
 */
public class Escaped {
    static class Point {
        final int x, y;
        Point(int x, int y) { this.x = x; this.y = y; }
        int sum() { return x + y; }
    }

    static long vanish(int n) {
        long sum = 0;
        for (int i = 0; i < n; i++) sum += new Point(i, 1).sum();
        return sum;
    }

    public static void main(String[] args) {
        Truth.load();
        com.sun.management.ThreadMXBean counter = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long id = Thread.currentThread().getId();
        counter.getThreadAllocatedBytes(id);
        long before = counter.getThreadAllocatedBytes(id);
        for (int i = 0; i < 200; i++) Truth.sink += vanish(50_000);
        long bytes = counter.getThreadAllocatedBytes(id) - before;
        Truth.ready();
        Truth.say("bytes", "Escaped.vanish", "-", bytes);
    }
}
