import java.io.File;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Array;
import javax.management.MBeanServer;
import javax.management.ObjectName;

/**
 * Makes arrays of classes that come and go, while heap dumps and class histograms of what is alive are asked for without end:
 * some VMs collect for these without telling any agent, and all of them move the classes then. Known answer: 2 threads make
 * ROUNDS x MADE arrays `Queried$Left[]` and as many `Queried$Right[]` in Queried.make; all are dead. Prints `queries N`.
 */
public class Queried {
    static final int ROUNDS = 300;
    static final int MADE = 200;

    static class Left {}

    static class Right {}

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

    static void make(Class<?> type) {
        for (int i = 0; i < MADE; i++) {
            sink = Array.newInstance(type, 3);
        }
    }

    static void load() {
        try {
            byte[][] files = {file("Queried$Left"), file("Queried$Right")};
            for (int round = 0; round < ROUNDS; round++) {
                make(new Loader().load("Queried$Left", files[0]));
                make(new Loader().load("Queried$Right", files[1]));
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        MBeanServer server = ManagementFactory.getPlatformMBeanServer();
        ObjectName commands = new ObjectName("com.sun.management:type=DiagnosticCommand");
        String[] types = {String[].class.getName()};
        File dump = new File("queried.dump");
        Thread[] loaders = {new Thread(Queried::load), new Thread(Queried::load)};
        for (Thread loader : loaders) {
            loader.start();
        }
        int queries = 0;
        while (loaders[0].isAlive() || loaders[1].isAlive() || queries < 2) {
            Object[] none = {new String[0]};
            server.invoke(commands, "gcClassHistogram", none, types);
            if (queries % 4 == 0) {
                Object[] file = {new String[] {dump.getPath()}};
                server.invoke(commands, "gcHeapDump", file, types);
                dump.delete();
            }
            queries++;
        }
        sink = null;
        System.out.println("queries " + queries);
    }
}
