import java.io.IOException;
import java.io.InputStream;

/**
 * Known answer: nearly all samples are in `Unload$Work.spin`, which is loaded 200 times over, each time by a loader of
 * its own that is dropped after some 5 ms of CPU; most of these classes are unloaded while the program runs, and their
 * samples keep their names. Prints `rounds 200`.
 */
public class Unload {
    static final int ROUNDS = 200;

    public static class Work implements Runnable {
        static volatile double sink;

        static void spin() {
            double x = 1;
            for (int i = 0; i < 2_000_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }

        @Override
        public void run() {
            spin();
        }
    }

    /** Defines `Work` itself instead of asking its parent. */
    static final class Loader extends ClassLoader {
        final byte[] work;

        Loader(byte[] work) {
            super(Unload.class.getClassLoader());
            this.work = work;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Unload$Work")) return super.loadClass(name, resolve);
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : defineClass(name, work, 0, work.length);
        }
    }

    static byte[] bytesOfWork() throws IOException {
        try (InputStream in = Unload.class.getResourceAsStream("Unload$Work.class")) {
            return in.readAllBytes();
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] work = bytesOfWork();
        for (int round = 1; round <= ROUNDS; round++) {
            Class<?> fresh = new Loader(work).loadClass("Unload$Work");
            if (fresh == Work.class) throw new AssertionError("the class is not a fresh one");
            ((Runnable) fresh.getDeclaredConstructor().newInstance()).run();
            if (round % 10 == 0) System.gc();
        }
        System.out.println("rounds " + ROUNDS);
    }
}
