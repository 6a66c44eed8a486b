import java.io.IOException;
import java.io.InputStream;
import java.lang.ref.WeakReference;
import java.util.Date;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A class, `UnloadSites$Work`, is loaded 100 times over, each time by a loader of its own; its method `make`
 * allocates objects of classes of the JDK, then the loader is dropped. Known answer: from `UnloadSites$Work.make`
 * come 1,000 live AtomicLong, 100 live `long[20]` and 500 dead Date; 100 objects of `UnloadSites$Work` itself are
 * allocated and dead. Prints `unloaded N`, the classes that are gone before the program ends: 100, or 99 where the
 * last is still in use by a stack slot that nobody reads.
 */
public class UnloadSites {
    static final int ROUNDS = 100;
    static final Object[] KEEP = new Object[11 * ROUNDS];
    static int kept;
    static volatile Object sink;

    public static void hold(Object o) { KEEP[kept++] = o; }

    public static void drop(Object o) { sink = o; }

    public static class Work implements Runnable {
        static void make() {
            for (int i = 0; i < 10; i++) hold(new AtomicLong(i));
            for (int i = 0; i < 5; i++) drop(new Date(i));
            hold(new long[20]);
        }

        @Override
        public void run() {
            make();
        }
    }

    /** Defines `Work` itself instead of asking its parent. */
    static final class Loader extends ClassLoader {
        final byte[] work;

        Loader(byte[] work) {
            super(UnloadSites.class.getClassLoader());
            this.work = work;
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("UnloadSites$Work")) return super.loadClass(name, resolve);
            Class<?> loaded = findLoadedClass(name);
            return loaded != null ? loaded : defineClass(name, work, 0, work.length);
        }
    }

    static byte[] bytesOfWork() throws IOException {
        try (InputStream in = UnloadSites.class.getResourceAsStream("UnloadSites$Work.class")) {
            return in.readAllBytes();
        }
    }

    static WeakReference<Class<?>> round(byte[] work) throws Exception {
        Class<?> fresh = new Loader(work).loadClass("UnloadSites$Work");
        ((Runnable) fresh.getDeclaredConstructor().newInstance()).run();
        return new WeakReference<>(fresh);
    }

    static int unloaded(WeakReference<?>[] classes) {
        int gone = 0;
        for (WeakReference<?> reference : classes) if (reference.get() == null) gone++;
        return gone;
    }

    public static void main(String[] args) throws Exception {
        byte[] work = bytesOfWork();
        WeakReference<?>[] classes = new WeakReference<?>[ROUNDS];
        for (int i = 0; i < ROUNDS; i++) {
            classes[i] = round(work);
            // Addresses and ids of the VM are free for others while the sites live on.
            if (i % 10 == 9) System.gc();
        }
        sink = null;
        System.gc();
        System.gc();
        System.out.println("unloaded " + unloaded(classes));
    }
}
