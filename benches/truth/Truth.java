import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.Map;
import java.util.TreeMap;

/** Shared by the programs here: prints how much CPU time each of their methods took, by the thread's own clock. */
final class Truth {
    static volatile double sink;
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final Map<String, Long> USED = new TreeMap<>();

    private Truth() {}

    /** The CPU time of the current thread, in ns. */
    static long now() {
        return THREADS.getCurrentThreadCpuTime();
    }

    /**
     * How often a chunk runs before the clock is read. Reading a thread's clock is a moment at which Linux takes the processor
     * from it, so on a busy machine the kernel's ticks, and with them the samples, would not fall evenly on short chunks.
     */
    private static final int REPEATS = 25;

    /** Runs the chunks in turn until the thread has used so much. */
    static void run(long millis, String[] names, Runnable... chunks) {
        for (int round = 0; round < 30; round++) for (Runnable chunk : chunks) chunk.run();
        long[] used = new long[chunks.length];
        long begin = now();
        long last = begin;
        while (last - begin < millis * 1_000_000) {
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

    /** `truth Class.method nanoseconds`, one a line. */
    static void print() {
        USED.forEach((name, nanos) -> System.out.println("truth " + name + " " + nanos));
    }
}
