import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Known answer: 2,000 threads `short-0` to `short-1999`, 20 at a time, start and end; each burns about 1 ms in `burn`.
 * Prints `threads 2000` and `cpu_ms N`, the CPU that they used together as measured in each before it ends.
 */
public class ShortThreads {
    static final int COUNT = 2_000;
    static final int AT_ONCE = 20;
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final AtomicLong CPU_NANOS = new AtomicLong();
    static volatile double sink;

    static void burn() {
        double x = 1;
        for (int i = 0; i < 400_000; i++) x = x * 1.0000001 + 0.5;
        sink = x;
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[AT_ONCE];
        for (int first = 0; first < COUNT; first += AT_ONCE) {
            for (int i = 0; i < AT_ONCE; i++) {
                threads[i] = new Thread(() -> {
                    burn();
                    CPU_NANOS.addAndGet(THREADS.getCurrentThreadCpuTime());
                }, "short-" + (first + i));
                threads[i].start();
            }
            for (Thread thread : threads) thread.join();
        }
        System.out.println("threads " + COUNT);
        System.out.println("cpu_ms " + CPU_NANOS.get() / 1_000_000);
    }
}
