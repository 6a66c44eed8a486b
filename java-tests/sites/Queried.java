import java.io.File;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Array;
import java.util.ArrayList;
import java.util.List;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Makes arrays of ever new classes, while heap dumps and class histograms of what is alive are asked for without end:
 * some VMs collect for these without telling any agent, and all of them move the classes then. Known answer: 2 threads make
 * ROUNDS x MADE arrays `Queried$Left[]` and as many `Queried$Right[]` in Queried.make; all are dead. Prints `queries N`.
 */
public class Queried {
    static final int ROUNDS = 40;
    static final int MADE = 200;

    static class Left {}

    static class Right {}

    static final List<Class<?>> KEPT = new ArrayList<>();
    static volatile Object sink;

    /** Loads its own copy of a class. */
    static class Loader extends ClassLoader {
        Class<?> load(String name, byte[] file) {
            return defineClass(name, file, 0, file.length);
        }
    }

    static byte[] file(String name) throws Exception {
        try (InputStream file = Queried.class.getResourceAsStream(name + ".class")) {
            return file.readAllBytes();
        }
    }

    static void make(Class<?> type, int count) {
        for (int i = 0; i < count; i++) {
            sink = Array.newInstance(type, 3);
        }
    }

    /**
     * Defines a copy of a class, between garbage, and makes the first array of it. JDK 17 with Parallel crashes by itself, without
     * any agent, where a histogram comes between, or where a class is gone: all are kept.
     */
    static synchronized Class<?> define(String name, byte[] file) {
        sink = new byte[1_000];
        Class<?> type = new Loader().load(name, file);
        make(type, 1);
        KEPT.add(type);
        return type;
    }

    static synchronized Object query(MBeanServer server, String bean, String name, Object[] arguments, String... types)
            throws Exception {
        return server.invoke(new ObjectName("com.sun.management:type=" + bean), name, arguments, types);
    }

    static void load() {
        try {
            byte[][] files = {file("Queried$Left"), file("Queried$Right")};
            for (int round = 0; round < ROUNDS; round++) {
                make(define("Queried$Left", files[0]), MADE - 1);
                make(define("Queried$Right", files[1]), MADE - 1);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        File dump = new File("queried.hprof");
        Thread[] loaders = {new Thread(Queried::load), new Thread(Queried::load)};
        for (Thread loader : loaders) {
            loader.start();
        }
        int queries = 0;
        while (loaders[0].isAlive() || loaders[1].isAlive() || queries < 2) {
            Object[] none = {new String[0]};
            query(server, "DiagnosticCommand", "gcClassHistogram", none, String[].class.getName());
            if (queries % 4 == 0) {
                Object[] live = {dump.getPath(), true};
                query(server, "HotSpotDiagnostic", "dumpHeap", live, "java.lang.String", "boolean");
                dump.delete();
            }
            queries++;
        }
        sink = null;
        System.out.println("queries " + queries);
    }
}
