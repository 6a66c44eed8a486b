import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Known answer: the samples of `left` and `right` stand to each other as the CPU milliseconds that the program prints
 * for them, about 1 : 1 and about 1,000 ms each; the ten threads named `idle-N`, which sleep, park, wait and block on a
 * monitor, get none.
 */
public class TwoBusy {
    static volatile double leftSink;
    static volatile double rightSink;
    static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    static final Object HELD = new Object();
    static final Object NOTIFIED = new Object();

    static void left(int n) {
        double x = 1;
        for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5;
        leftSink = x;
    }

    static void right(int n) {
        double x = 1;
        for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5;
        rightSink = x;
    }

    static void idle(int number) {
        try {
            switch (number % 4) {
                case 0: Thread.sleep(60_000); break;
                case 1: while (!Thread.interrupted()) LockSupport.park(); break;
                case 2: synchronized (NOTIFIED) { NOTIFIED.wait(60_000); } break;
                default: synchronized (HELD) { Thread.sleep(60_000); } break;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** A thread that calls `work` until it has used a second of CPU. */
    static Thread busy(String name, Runnable work, long[] used, int index, CountDownLatch start) {
        return new Thread(() -> {
            try {
                start.await();
            } catch (InterruptedException e) {
                return;
            }
            while ((used[index] = THREADS.getCurrentThreadCpuTime()) < 1_000_000_000L) work.run();
        }, name);
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch start = new CountDownLatch(1);
        long[] used = new long[2];
        Thread left = busy("left", () -> left(2_000_000), used, 0, start);
        Thread right = busy("right", () -> right(2_000_000), used, 1, start);
        synchronized (HELD) {
            for (int i = 0; i < 10; i++) {
                int number = i;
                Thread idle = new Thread(() -> idle(number), "idle-" + i);
                idle.setDaemon(true);
                idle.start();
            }
            left.start();
            right.start();
            start.countDown();
            left.join();
            right.join();
        }
        System.out.println("left " + used[0] / 1_000_000);
        System.out.println("right " + used[1] / 1_000_000);
    }
}
