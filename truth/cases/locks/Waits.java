/** A known number of waits in Object.wait, and of sleeps; each takes at least what it asks for, and no more than passes around it. */
public class Waits {
    static final class Bell {}

    static final Bell BELL = new Bell();
    static final int TIMES = 15;
    static final int MILLIS = 25;

    static long waitForBell() throws InterruptedException {
        long before = System.nanoTime();
        synchronized (BELL) {
            BELL.wait(MILLIS);
        }
        return System.nanoTime() - before;
    }

    static long doze() throws InterruptedException {
        long before = System.nanoTime();
        Thread.sleep(MILLIS);
        return System.nanoTime() - before;
    }

    public static void main(String[] args) throws Exception {
        long waited = 0;
        long slept = 0;
        for (int i = 0; i < TIMES; i++) {
            waited += waitForBell();
            slept += doze();
        }
        Truth.ready();
        long least = TIMES * MILLIS * 1_000_000L;
        // By the program's clock, the VM may end a wait a little early.
        least -= least / 100;
        Truth.say("waits", "-", "Waits$Bell", TIMES);
        Truth.say("waited_ns", "-", "Waits$Bell", least, waited);
        Truth.say("sleeps", "Waits.doze", "-", TIMES);
        Truth.say("slept_ns", "Waits.doze", "-", least, slept);
    }
}
