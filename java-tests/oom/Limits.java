import java.io.InputStream;
import java.util.ArrayList;
import java.util.List;

/**
 * Runs out of something else than the heap, catches the error and prints `went on`.
 *
 * <ul>
 * <li>`metaspace`: defines the class `Limits$Again` again and again, each time in another loader. Run with
 * `-XX:MaxMetaspaceSize=24m`.
 * <li>`threads`: starts threads that sleep until no more can be started. Run with a limit on processes or memory.
 * </ul>
 */
public class Limits {
    static class Again {
    }

    static class Loader extends ClassLoader {
        final byte[] bytes;

        Loader(byte[] bytes) {
            super(null);
            this.bytes = bytes;
        }

        Class<?> define() {
            return defineClass("Limits$Again", bytes, 0, bytes.length);
        }
    }

    static void classes() throws Exception {
        byte[] bytes;
        try (InputStream in = Limits.class.getResourceAsStream("Limits$Again.class")) {
            bytes = in.readAllBytes();
        }
        List<Class<?>> kept = new ArrayList<>();
        while (true) kept.add(new Loader(bytes).define());
    }

    static void threads() {
        while (true) {
            Thread thread = new Thread(() -> {
                try {
                    Thread.sleep(600_000);
                } catch (InterruptedException e) {
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
    }

    public static void main(String[] args) throws Exception {
        try {
            if (args[0].equals("metaspace")) classes();
            else threads();
        } catch (OutOfMemoryError e) {
            System.out.println("went on");
        }
    }
}
