import java.lang.reflect.Method;

/**
 * A virtual thread sleeps three times half a second, in `sleeps`: in a monitor (`monitor`), below a native frame (`frame`, with
 * -Djdk.reflect.useNativeAccessorOnly=true), or just so (`free`). A native frame pins it to its carrier, as does a monitor
 * before JDK 24. Prints how long it slept, in ms.
 */
public class Pinned21 {
    static long nanos;

    public static void sleeps() {
        long begin = System.nanoTime();
        try {
            Thread.sleep(500);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        nanos += System.nanoTime() - begin;
    }

    static synchronized void monitor() {
        sleeps();
    }

    static void frame() {
        try {
            Method sleeps = Pinned21.class.getMethod("sleeps");
            sleeps.invoke(null);
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    static void free() {
        sleeps();
    }

    public static void main(String[] args) throws Exception {
        Thread thread = Thread.ofVirtual().start(() -> {
            for (int i = 0; i < 3; i++) {
                switch (args[0]) {
                    case "monitor" -> monitor();
                    case "frame" -> frame();
                    default -> free();
                }
            }
        });
        thread.join();
        System.out.println("slept_ms " + nanos / 1_000_000);
    }
}
