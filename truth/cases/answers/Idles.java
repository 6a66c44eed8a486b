import java.util.concurrent.locks.LockSupport;

/** Where do threads wait? A method sleeps, another parks; three threads at once. */
// asks: wall
public final class Idles {
    private static volatile boolean isOpen;

    static void load(long millis) throws InterruptedException {
        Thread.sleep(millis);
    }

    static void await() {
        while (!isOpen) LockSupport.park();
    }

    public static void main(String[] args) throws InterruptedException {
        Thread[] loading = new Thread[2];
        long[] slept = new long[2];
        long begin = System.nanoTime();
        Thread waiting = new Thread(Idles::await, "waits");
        waiting.start();
        for (int i = 0; i < 2; i++) {
            int number = i;
            loading[i] = new Thread(() -> {
                long from = System.nanoTime();
                try {
                    load(500 + 500 * number);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
                slept[number] = System.nanoTime() - from;
            }, "loads " + i);
            loading[i].start();
        }
        long started = System.nanoTime();
        for (Thread thread : loading) thread.join();
        long joined = System.nanoTime();
        Thread.sleep(400);
        long closed = System.nanoTime();
        isOpen = true;
        LockSupport.unpark(waiting);
        waiting.join();
        long end = System.nanoTime();
        Truth.say("state_ns", "-", "sleeping", 1_900_000_000L, slept[0] + slept[1] + closed - joined);
        Truth.say("wall_ns", "Idles.load", "sleeping", 1_500_000_000L, slept[0] + slept[1]);
        Truth.say("wall_ns", "Idles.await", "parked", Math.max(closed - started, 0), end - begin);
    }
}
