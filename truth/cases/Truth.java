import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;

/**
 * Shared by all cases: prints truths, scales their work, and knows how large objects are. Run by itself it measures the layout of
 * objects with the VM's own count of allocated bytes, and prints `layout HEADER ARRAY_HEADER REFERENCE`.
 */
public final class Truth {
    public static volatile double sink;
    public static volatile Object kept;
    private static final double SCALE = Double.parseDouble(System.getProperty("truth.scale", "1"));
    private static final int[] LAYOUT = layout();

    private Truth() {}

    private static int[] layout() {
        String[] words = System.getProperty("truth.layout", "12 16 4").split(" ");
        return new int[] {Integer.parseInt(words[0]), Integer.parseInt(words[1]), Integer.parseInt(words[2])};
    }

    /** Loads this class, so that no method of a case is charged with that. */
    public static void load() {}

    /** As much work as this run of the suite asks for. */
    public static int scaled(int work) {
        return Math.max(1, (int) (work * SCALE));
    }

    /** Work of this length on average, never the same twice in a row, so that no round falls into step with a profiler's clock. */
    public static int uneven(int work, int round) {
        return work / 2 + work / 100 * (round * 37 % 101);
    }

    /** A truth: of a value, at a method, about a class. */
    public static void say(String value, String where, String type, long amount) {
        System.out.println("truth " + value + " " + where + " " + type + " " + amount);
    }

    /** A truth that is known to lie between two numbers. */
    public static void say(String value, String where, String type, long low, long high) {
        System.out.println("truth " + value + " " + where + " " + type + " " + low + " " + high);
    }

    /** Objects of one size that were allocated at a method. */
    public static void allocated(String where, String type, long objects, long size) {
        say("objects", where, type, objects);
        say("bytes", where, type, objects * size);
    }

    /** Objects of one size that a method has allocated and that are still reachable. */
    public static void live(String where, String type, long objects, long size) {
        say("live_objects", where, type, objects);
        say("live_bytes", where, type, objects * size);
    }

    private static long aligned(long bytes) {
        return (bytes + 7) / 8 * 8;
    }

    /** The size of an object with so many bytes of primitive fields, the widest of at most 4 bytes, and so many references. */
    public static long object(int primitive, int references) {
        return aligned(LAYOUT[0] + primitive + (long) references * LAYOUT[2]);
    }

    /** The size of an array of so many bytes. */
    public static long array(long bytes) {
        return aligned(LAYOUT[1] + bytes);
    }

    /** The size of an array of so many references. */
    public static long references(long length) {
        return array(length * LAYOUT[2]);
    }

    /** Everything is in place: a tool may look now. */
    public static void ready() {
        System.out.println("ready");
        System.out.flush();
        try {
            if (System.in.read() < 0) System.out.println("input ended");
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    // Shares of CPU time by the threads' own clocks.

    private static final Map<String, Long> USED = new TreeMap<>();

    /** The CPU time of the current thread, in ns. */
    static long now() {
        return Clock.THREADS.getCurrentThreadCpuTime();
    }

    /** Loaded only by programs that read it. */
    private static final class Clock {
        static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    }

    /**
     * How often a chunk runs before the clock is read. When a thread reads its clock, Linux may take the processor
     * from it, so on a busy machine the kernel's ticks, and with them the samples, would not fall evenly on short chunks.
     */
    private static final int REPEATS = 25;

    /** Runs the chunks in turn until the thread has used so much. */
    public static void run(int millis, String[] names, Runnable... chunks) {
        long nanos = scaled(millis) * 1_000_000L;
        for (int round = 0; round < 30; round++) for (Runnable chunk : chunks) chunk.run();
        long[] used = new long[chunks.length];
        long begin = now();
        long last = begin;
        while (last - begin < nanos) {
            for (int chunk = 0; chunk < chunks.length; chunk++) {
                for (int repeat = 0; repeat < REPEATS; repeat++) chunks[chunk].run();
                long time = now();
                used[chunk] += time - last;
                last = time;
            }
        }
        synchronized (USED) {
            for (int chunk = 0; chunk < chunks.length; chunk++) USED.merge(names[chunk], used[chunk], Long::sum);
        }
    }

    /** The shares that `run` has measured. */
    public static void print() {
        USED.forEach((name, nanos) -> say("cpu", name, "-", nanos));
    }

    // The layout of objects, by the VM's own count.

    static class B0 {}
    static class B1 extends B0 { byte a; }
    static class B5 extends B1 { byte b, c, d, e; }

    private interface Maker {
        Object make();
    }

    private static long size(com.sun.management.ThreadMXBean counter, Maker maker) {
        long id = Thread.currentThread().getId();
        long least = Long.MAX_VALUE;
        for (int i = 0; i < 100; i++) {
            long before = counter.getThreadAllocatedBytes(id);
            kept = maker.make();
            least = Math.min(least, counter.getThreadAllocatedBytes(id) - before);
        }
        return least;
    }

    public static void main(String[] args) {
        com.sun.management.ThreadMXBean counter = (com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
        long empty = size(counter, B0::new);
        long one = size(counter, B1::new);
        long header = empty == one ? (size(counter, B5::new) > one ? 12 : 16) : empty;
        // 16 bytes with none, one and five fields would be a header of 8 bytes and more alignment than 8.
        if (empty == 16 && one == 24) header = 16;
        long none = size(counter, () -> new byte[0]);
        int fitting = 0;
        while (fitting < 8) {
            int length = fitting + 1;
            if (size(counter, () -> new byte[length]) != none) break;
            fitting = length;
        }
        long reference = (size(counter, () -> new Object[1024]) - size(counter, () -> new Object[0])) / 1024;
        System.out.println("layout " + header + " " + (none - fitting) + " " + reference);
    }
}
