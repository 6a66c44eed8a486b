import java.io.File;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Changes what its static fields refer to, and loads classes and makes objects of them, all the time until there is a
 * file `go`. Prints `ready` when it does. Known answer: a list that starts at {@code head} has 1,000 links at any moment
 * but for one, and every reference in a dump leads somewhere.
 */
public class Changing {
    static class Link { Link next; Object payload = new int[3]; }

    /** A class that every loader loads again. */
    public static class Payload implements Runnable {
        static final Object mark = new Object();
        Object self = this;
        int number = 7;
        Object[] mine = new Payload[2];
        public void run() { mine[0] = this; }
    }

    static class Loader extends ClassLoader {
        final byte[] bytes;
        Loader(byte[] bytes) { super(null); this.bytes = bytes; }
        Class<?> load() { return defineClass("Changing$Payload", bytes, 0, bytes.length); }
    }

    static volatile Link head;
    static volatile Object flips;
    static final Deque<Object> recent = new ArrayDeque<>();
    static volatile boolean over;

    static void rotate() {
        Link first = null;
        for (int i = 0; i < 1_000; i++) { Link link = new Link(); link.next = first; first = link; }
        head = first;
        while (!over) {
            Link fresh = new Link();
            fresh.next = head.next;
            head = fresh;
            flips = new Object[]{fresh, new String("flip")};
            flips = null;
        }
    }

    static void load(byte[] bytes) {
        try {
            while (!over) {
                Runnable payload = (Runnable) new Loader(bytes).load().getDeclaredConstructor().newInstance();
                payload.run();
                recent.addLast(payload);
                if (recent.size() > 200) recent.removeFirst();
            }
        } catch (ReflectiveOperationException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes;
        try (InputStream in = Changing.class.getResourceAsStream("Changing$Payload.class")) { bytes = in.readAllBytes(); }
        Thread rotate = new Thread(Changing::rotate), load = new Thread(() -> load(bytes));
        rotate.start();
        load.start();
        while (head == null) Thread.sleep(1);
        System.out.println("ready");
        File go = new File("go");
        while (!go.exists()) Thread.sleep(5);
        over = true;
        rotate.join();
        load.join();
        System.out.println("done");
    }
}
