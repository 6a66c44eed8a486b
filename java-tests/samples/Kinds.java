import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.zip.Deflater;

/**
 * Known answer: prints, for each of three methods, the CPU milliseconds that the thread used in it. `counted` is a loop
 * without a safepoint, inlined into its caller; `polled` is short calls, between which the thread polls; `deflate` spends
 * its time in native code. About 1,500 ms in all.
 */
public class Kinds {
    static volatile double sink;
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final byte[] DATA = new byte[1 << 16];

    static double loop(int n) {
        double x = 1;
        for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5;
        return x;
    }

    static void counted() {
        sink = loop(3_000_000);
    }

    static void polled() {
        double x = 1;
        for (long i = 0; i < 800_000L; i++) x = x * 1.0000001 + 0.5;
        sink = x;
    }

    static void deflate() {
        Deflater deflater = new Deflater(9);
        deflater.setInput(DATA);
        deflater.finish();
        byte[] out = new byte[1 << 17];
        sink = deflater.deflate(out);
        deflater.end();
    }

    static long time() {
        return THREADS.getCurrentThreadCpuTime();
    }

    public static void main(String[] args) {
        java.util.Random random = new java.util.Random(1);
        for (int i = 0; i < DATA.length; i++) DATA[i] = (byte) random.nextInt(16);
        for (int i = 0; i < 20; i++) {
            counted();
            polled();
            deflate();
        }
        long[] used = new long[3];
        long begin = time();
        long now = begin;
        while (now - begin < 1_500_000_000L) {
            // Linux likes to take the processor from a thread that reads its clock: seldom, or samples do not fall evenly.
            for (int i = 0; i < 10; i++) counted();
            long counted = time();
            for (int i = 0; i < 10; i++) polled();
            long polled = time();
            for (int i = 0; i < 10; i++) deflate();
            long deflated = time();
            used[0] += counted - now;
            used[1] += polled - counted;
            used[2] += deflated - polled;
            now = deflated;
        }
        System.out.println("counted " + used[0] / 1_000_000);
        System.out.println("polled " + used[1] / 1_000_000);
        System.out.println("deflate " + used[2] / 1_000_000);
    }
}
