import java.util.concurrent.locks.LockSupport;

/** One thread that sleeps, parks and computes in turn, for times that it measures; so most looks at it find it somewhere else. */
public class Alternating {
    static final long[] NANOS = new long[3];

    static void doze() throws InterruptedException { Thread.sleep(30); }

    static void park() {
        long end = System.nanoTime() + 50_000_000;
        for (long left; (left = end - System.nanoTime()) > 0;) LockSupport.parkNanos(left);
    }

    static void work() {
        long end = System.nanoTime() + 20_000_000;
        double x = 1;
        while (System.nanoTime() < end) for (int i = 0; i < 1_000; i++) x = x * 1.0000001 + 0.5;
        Truth.sink = x;
    }

    static void rounds(int n) throws InterruptedException {
        for (int round = 0; round < n; round++) {
            long start = System.nanoTime();
            doze();
            long dozed = System.nanoTime();
            park();
            long parked = System.nanoTime();
            work();
            long worked = System.nanoTime();
            NANOS[0] += dozed - start;
            NANOS[1] += parked - dozed;
            NANOS[2] += worked - parked;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread thread = new Thread(() -> {
            try {
                rounds(Truth.scaled(40));
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        thread.start();
        thread.join();
        Truth.ready();
        String[] names = {"Alternating.doze", "Alternating.park", "Alternating.work"};
        for (int i = 0; i < names.length; i++) Truth.say("wall", names[i], "-", NANOS[i]);
        Truth.say("state", "Alternating.doze", "sleeping", NANOS[0]);
        Truth.say("state", "Alternating.park", "parked", NANOS[1]);
        Truth.say("awake", "Alternating.doze", "asleep", NANOS[0]);
        Truth.say("awake", "Alternating.park", "asleep", NANOS[1]);
        Truth.say("awake", "Alternating.work", "awake", NANOS[2]);
    }
}
