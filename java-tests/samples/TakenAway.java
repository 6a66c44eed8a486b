import java.io.InputStream;

/**
 * Computes while a page of its method's memory is taken away again and again, each time between the question of the agent's
 * handler whether it may read and its read. The VM must interpret it (-Xint), and run with taken_away.c preloaded. The class has a loader of
 * its own, and so have the pages of its methods: no other thread looks at them.
 *
 * The arguments are the library, the number of times, and "front" or "behind": whether the agent's handler of faults is the first, or is
 * behind one that was installed later. Prints "taken N", and "faults N": those that the other handler has seen.
 */
public class TakenAway {
    public static class Computes implements Runnable {
        static long sink;
        static int times;
        static boolean isBehind;

        static native void begin(int times, boolean isBehind);

        static native int taken();

        static native int faults();

        public static void prepare(String library, int times, boolean isBehind) {
            System.load(library);
            Computes.times = times;
            Computes.isBehind = isBehind;
        }

        @Override
        public void run() {
            // The agent asks the VM for the names of methods that it meets the first time. That must not be while their page is away,
            // and may take a while on a busy machine.
            long begun = System.nanoTime();
            while (System.nanoTime() - begun < 2_000_000_000L) {
                sink += taken();
            }
            begin(times, isBehind);
            while (taken() < times) {
                for (int i = 0; i < 100_000; i++) {
                    sink += i;
                }
            }
            System.out.println("taken " + taken());
            System.out.println("faults " + faults());
        }
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    public static void main(String[] arguments) throws Exception {
        byte[] bytes;
        try (InputStream in = TakenAway.class.getResourceAsStream("TakenAway$Computes.class")) {
            bytes = in.readAllBytes();
        }
        Class<?> computes = new Loader().define(bytes);
        computes.getMethod("prepare", String.class, int.class, boolean.class)
            .invoke(null, arguments[0], Integer.parseInt(arguments[1]), arguments[2].equals("behind"));
        Thread thread = new Thread((Runnable) computes.getDeclaredConstructor().newInstance(), "computes");
        thread.start();
        thread.join();
    }
}
