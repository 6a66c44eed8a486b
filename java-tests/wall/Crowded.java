import java.lang.management.ManagementFactory;
import java.util.concurrent.atomic.AtomicLong;

/**
 * Twice as many threads as there are CPUs compute in `spins`, for so many milliseconds. Prints the share of their time in which
 * they had a CPU, as their CPU clocks say.
 */
public class Crowded {
    static volatile boolean over;
    static volatile long sum;

    static void spins() {
        while (!over) {
            sum++;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[2 * Runtime.getRuntime().availableProcessors()];
        AtomicLong used = new AtomicLong();
        AtomicLong passed = new AtomicLong();
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                long begin = System.nanoTime();
                spins();
                used.addAndGet(ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime());
                passed.addAndGet(System.nanoTime() - begin);
            }, "spins");
            threads[i].start();
        }
        Thread.sleep(Long.parseLong(args[0]));
        over = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("cpu " + (double) used.get() / passed.get());
    }
}
