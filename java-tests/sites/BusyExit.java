import java.util.concurrent.atomic.AtomicLong;

/**
 * Four threads allocate `BusyExit$Junk` and keep some hundreds of the latest, without end; 500 ms later another
 * thread, `stopper`, calls System.exit(3). Known answer: exit status 3. While the VM ends it prints `at_least N`: as
 * many `BusyExit$Junk` have been allocated by then, and more may follow.
 */
public class BusyExit {
    static class Junk { long a; }

    static volatile Object sink;

    static void busy(AtomicLong count) {
        Object[] ring = new Object[512];
        for (int i = 0; ; i++) {
            Junk junk = new Junk();
            sink = junk;
            if (i % 100 == 0) ring[(i / 100) & 511] = junk;
            count.lazySet(count.get() + 1);
        }
    }

    public static void main(String[] args) throws Exception {
        AtomicLong[] counts = new AtomicLong[4];
        for (int i = 0; i < counts.length; i++) counts[i] = new AtomicLong();
        Runtime.getRuntime().addShutdownHook(new Thread(() -> {
            long sum = 0;
            for (AtomicLong count : counts) sum += count.get();
            System.out.println("at_least " + sum);
        }));
        for (AtomicLong count : counts) new Thread(() -> busy(count)).start();
        new Thread(() -> {
            try {
                Thread.sleep(500);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
            System.exit(3);
        }, "stopper").start();
        Thread.currentThread().join();
    }
}
