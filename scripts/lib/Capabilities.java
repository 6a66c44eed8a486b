/*
 * Runs pieces of code that a VM may compile or run in another way when an agent has a capability, and prints the nanoseconds of CPU time that
 * each took at best: "NAME N". That of a piece that starts threads is the whole process's.
 */
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
import java.util.function.LongSupplier;

public class Capabilities {
    static final int TIMES = 15;
    static final Object LOCK = new Object();
    static long sink;

    static final class Point {
        final int x, y;

        Point(int x, int y) {
            this.x = x;
            this.y = y;
        }
    }

    interface Piece {
        long run();
    }

    static long objects() {
        long sum = 0;
        for (int i = 0; i < 5_000_000; i++) {
            Point point = new Point(i, i ^ 7);
            sum += point.x + point.y;
        }
        return sum;
    }

    static long arrays() {
        long sum = 0;
        for (int i = 0; i < 500_000; i++) {
            int[] array = new int[16 + (i & 15)];
            sum += array.length;
            LAST = array;
        }
        return sum;
    }

    static volatile int[] LAST;

    static long exceptions() {
        long sum = 0;
        for (int i = 0; i < 20_000; i++) {
            try {
                fail(i);
            } catch (IllegalStateException thrown) {
                sum++;
            }
        }
        return sum;
    }

    static void fail(int number) {
        throw new IllegalStateException(number % 2 == 0 ? "even" : "odd");
    }

    static long monitors() {
        long sum = 0;
        for (int i = 0; i < 1_000_000; i++) {
            synchronized (LOCK) {
                sum += i;
            }
        }
        return sum;
    }

    static long calls() {
        long sum = 0;
        for (int i = 0; i < 20; i++) {
            sum += fibonacci(22);
        }
        return sum;
    }

    static int fibonacci(int n) {
        return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
    }

    static long threads() {
        for (int i = 0; i < 200; i++) {
            Thread thread = new Thread(() -> sink++);
            thread.start();
            try {
                thread.join();
            } catch (InterruptedException interrupted) {
                return 0;
            }
        }
        return 1;
    }

    static void measure(String name, LongSupplier clock, Piece piece) {
        long best = Long.MAX_VALUE;
        for (int i = 0; i < TIMES; i++) {
            long begun = clock.getAsLong();
            sink += piece.run();
            best = Math.min(best, clock.getAsLong() - begun);
        }
        System.out.println(name + " " + best);
    }

    public static void main(String[] arguments) {
        LongSupplier thread = ManagementFactory.getThreadMXBean()::getCurrentThreadCpuTime;
        LongSupplier process = ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())::getProcessCpuTime;
        measure("objects", thread, Capabilities::objects);
        measure("arrays", thread, Capabilities::arrays);
        measure("exceptions", thread, Capabilities::exceptions);
        measure("monitors", thread, Capabilities::monitors);
        measure("calls", thread, Capabilities::calls);
        measure("threads", process, Capabilities::threads);
    }
}
