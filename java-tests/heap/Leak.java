import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Leaks 40,000 arrays of 100 bytes, in the way that the argument names, and lives until there is a file `go`. Known answer, in
 * each case: what is leaked is the first suspect, it is held as the list below says, and it was allocated in
 * {@code Leak.allocate}. {@code Noise} is a tenth of it, and no suspect.
 *
 *   cache       static field Leak$Cache.entries, a HashMap with boxed numbers as keys
 *   threadlocal a thread-local variable of the thread "keeper"
 *   listeners   static field Leak.source, an object with a list of listeners
 *   loader      static field Leak.loaders, a list of class loaders, each of which has loaded Leak$Plugin, whose
 *               static field holds a share
 *   local       a local variable of Leak.main
 *   site        nothing alone: two arrays, in static fields of two classes, have every object, and the objects, 44,000 of
 *               four classes, were made by one line of Leak.made. Only where the dump has stacks is that one suspect
 *   own         the same, but one line of Leak.copy had several methods of the JDK make the objects. It is one suspect
 *               only where that line is looked for (--mine)
 */
public class Leak {
    static class Cache { static final Map<Integer, byte[]> entries = new HashMap<>(); }

    static class Listener {
        final byte[] state = allocate();
    }

    static class Source {
        final List<Listener> listeners = new ArrayList<>();
    }

    static Source source;
    static List<ClassLoader> loaders;
    static byte[][] noise = new byte[4000][];

    public static class Plugin { public static final List<byte[]> kept = new ArrayList<>(); }

    /** Defines Plugin itself instead of asking its parent. */
    static class PluginLoader extends ClassLoader {
        PluginLoader() { super(Leak.class.getClassLoader()); }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Leak$Plugin")) {
                return super.loadClass(name, resolve);
            }
            Class<?> loaded = findLoadedClass(name);
            if (loaded != null) {
                return loaded;
            }
            try (java.io.InputStream in = Leak.class.getResourceAsStream("Leak$Plugin.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static byte[] allocate() {
        return new byte[100];
    }

    static final int COUNT = 40_000;

    static void cache() {
        for (int i = 0; i < COUNT; i++) Cache.entries.put(i, allocate());
    }

    static void threadlocal() throws Exception {
        ThreadLocal<List<byte[]>> local = ThreadLocal.withInitial(ArrayList::new);
        java.util.concurrent.CountDownLatch done = new java.util.concurrent.CountDownLatch(1);
        Thread keeper = new Thread(() -> {
            for (int i = 0; i < COUNT; i++) local.get().add(allocate());
            done.countDown();
            try { Thread.currentThread().join(); } catch (InterruptedException e) { }
        }, "keeper");
        keeper.setDaemon(true);
        keeper.start();
        done.await();
        // Without the variable itself an entry would be stale.
        Leak.keyed = local;
    }

    static Object keyed;

    static void listeners() {
        source = new Source();
        for (int i = 0; i < COUNT; i++) source.listeners.add(new Listener());
    }

    static void loader() throws Exception {
        loaders = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            PluginLoader loader = new PluginLoader();
            @SuppressWarnings("unchecked")
            List<byte[]> kept = (List<byte[]>) loader.loadClass("Leak$Plugin").getField("kept").get(null);
            for (int j = 0; j < COUNT / 20; j++) kept.add(allocate());
            loaders.add(loader);
        }
    }

    static class One { static Object[] kept; }

    static class Other { static Object[] kept; }

    /** A class without string constants: the VM makes those of a method's class when it has the method compiled, and
     *  a site would have them as well. */
    static class Maker {
        static Object made(int i) {
            switch (i & 3) { case 0: return new byte[100]; case 1: return new int[25]; case 2: return new long[13]; default: return new short[50]; }
        }
    }

    static void site() {
        One.kept = new Object[COUNT + COUNT / 10];
        for (int i = 0; i < One.kept.length; i++) One.kept[i] = Maker.made(i);
        Other.kept = One.kept.clone();
    }

    static void own() {
        Object[] models = { new byte[100], new int[25], new long[13], new short[50] };
        One.kept = new Object[COUNT + COUNT / 10];
        for (int i = 0; i < One.kept.length; i++) One.kept[i] = copy(models[i & 3], i);
        Other.kept = One.kept.clone();
    }

    static Object copy(Object model, int i) {
        switch (i & 3) { case 0: return java.util.Arrays.copyOf((byte[]) model, 100); case 1: return java.util.Arrays.copyOf((int[]) model, 25); case 2: return java.util.Arrays.copyOf((long[]) model, 13); default: return java.util.Arrays.copyOf((short[]) model, 50); }
    }

    static List<byte[]> local() {
        List<byte[]> list = new ArrayList<>();
        for (int i = 0; i < COUNT; i++) list.add(allocate());
        return list;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < noise.length; i++) noise[i] = new byte[100];
        List<byte[]> held = null;
        switch (args[0]) {
            case "cache": cache(); break;
            case "own": own(); break;
            case "threadlocal": threadlocal(); break;
            case "listeners": listeners(); break;
            case "loader": loader(); break;
            case "local": held = local(); break;
            case "site": site(); break;
            default: throw new IllegalArgumentException(args[0]);
        }
        Thread main = Thread.currentThread();
        Thread watch = new Thread(() -> watch(main), "watch");
        watch.start();
        watch.join();
        System.out.println(held == null ? 0 : held.size());
    }

    /** The main thread stays where it is while somebody looks: it waits before `ready` is said. */
    static void watch(Thread main) {
        try {
            while (main.getState() != Thread.State.WAITING) Thread.sleep(1);
            System.out.println("ready");
            while (!new java.io.File("go").exists()) Thread.sleep(20);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }
}
