import java.lang.ref.WeakReference;

/**
 * Runs until it is ended from outside. Known answers: when it prints `ready`, `keep` has made 100 objects of class `Kept`,
 * all alive for good, and a byte array of 20,000,000 bytes is alive. The thread `busy` spins in `spin`, the thread
 * `ticking` makes an object of class `Tick` every millisecond, 3 calls below `run`. `collected` is printed when the
 * garbage made before `ready` has been collected: nothing but a forced collection does that here. A shutdown hook prints
 * `hook`.
 */
public class Serve {
    static final class Kept {}

    static final class Tick {}

    static Object[] kept = new Object[100];
    static byte[] large = new byte[20_000_000];
    static volatile Object last;
    static volatile double sink;

    static void keep() {
        for (int i = 0; i < kept.length; i++) kept[i] = new Kept();
    }

    static void spin() {
        while (true) {
            double x = 1;
            for (int i = 0; i < 100_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }
    }

    static void tick() {
        last = new Tick();
    }

    static void tickTwice() {
        tick();
    }

    static void ticks() {
        while (true) {
            tickTwice();
            sleep();
        }
    }

    static void sleep() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void daemon(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    static WeakReference<Object> garbage() {
        return new WeakReference<>(new Object());
    }

    public static void main(String[] args) {
        Runtime.getRuntime().addShutdownHook(new Thread(() -> System.out.println("hook")));
        keep();
        daemon("busy", Serve::spin);
        daemon("ticking", Serve::ticks);
        WeakReference<Object> garbage = garbage();
        System.out.println("ready");
        while (garbage.get() != null) sleep();
        System.out.println("collected");
        while (true) sleep();
    }
}
