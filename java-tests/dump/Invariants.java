import java.io.File;
import java.io.InputStream;
import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Counts all the time, in threads each of which writes its number to one place after the other, until there is a file
 * `go`. The arguments name storms that rage meanwhile: `classes`, `redefine` (as a Java agent), `collect`,
 * `threads=N`, `short` (threads that come and go), `native=LIBRARY` (whose threads use malloc all the time). Prints `ready`,
 * and `done` at the end.
 *
 * Known answer, at any moment, for each `Invariants$Counter`: the numbers of {@code version}, {@code head}, and of the
 * slots, in this order, never rise, and the last is at most one less than the first; {@code version.twice} is the
 * double of {@code version.number}, as is each element of {@code version.copies}; the numbers along the links from
 * {@code head} fall by one each, and there are 500 to 1,500 links.
 */
public class Invariants {
    static final class Version {
        final long number, twice;
        final long[] copies = new long[5];
        Version(long number) {
            this.number = number;
            twice = 2 * number;
            java.util.Arrays.fill(copies, twice);
        }
    }

    static final class Link {
        final long number;
        volatile Link next;
        Link(long number, Link next) { this.number = number; this.next = next; }
    }

    static final class Slot {
        volatile long number;
        /** Puts the slots into different pages. */
        final byte[] away = new byte[4096];
    }

    static final class Counter extends Thread {
        volatile Version version;
        volatile Link head;
        final Slot[] slots = new Slot[32];

        Counter(int number) {
            super("counter " + number);
            for (int i = 0; i < slots.length; i++) slots[i] = new Slot();
            for (int i = -500; i <= 0; i++) head = new Link(i, head);
            version = new Version(0);
        }

        @Override public void run() {
            for (long number = 1; !over; number++) {
                version = new Version(number);
                head = new Link(number, head);
                for (Slot slot : slots) slot.number = number;
                if (number % 1_000 == 0) {
                    Link last = head;
                    for (int i = 1; i < 500; i++) last = last.next;
                    last.next = null;
                }
            }
        }
    }

    /** A class that every loader loads again. */
    public static class Payload implements Runnable {
        Object self = this;
        long sum;
        public void run() {
            for (int i = 0; i < 20_000; i++) sum += i * sum ^ hash(i);
        }
        long hash(long number) { return number * 31 + sum; }
    }

    static class Loader extends ClassLoader {
        final byte[] bytes;
        Loader(byte[] bytes) { super(null); this.bytes = bytes; }
        Class<?> load() { return defineClass("Invariants$Payload", bytes, 0, bytes.length); }
    }

    static final List<Counter> counters = new ArrayList<>();
    static final List<Thread> storms = new ArrayList<>();
    static final Deque<Object> recent = new ArrayDeque<>();
    static volatile Object garbage;
    /** By one thread alone. */
    static int loaded;
    static volatile boolean over;
    static Instrumentation instrumentation;

    interface Action { void run() throws Exception; }

    static void repeat(String name, Action action) {
        Thread thread = new Thread(() -> {
            try {
                while (!over) action.run();
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        }, name);
        storms.add(thread);
    }

    public static void premain(String options, Instrumentation vm) {
        instrumentation = vm;
        vm.addTransformer(new ClassFileTransformer() {
            @Override public byte[] transform(
                    ClassLoader loader, String name, Class<?> before, ProtectionDomain domain, byte[] bytes) {
                return before == null ? null : bytes;
            }
        }, true);
    }

    static void storm(String name) throws Exception {
        String[] parts = name.split("=", 2);
        switch (parts[0]) {
            case "classes":
                byte[] bytes;
                try (InputStream in = Invariants.class.getResourceAsStream("Invariants$Payload.class")) { bytes = in.readAllBytes(); }
                repeat(name, () -> {
                    Runnable payload = (Runnable) new Loader(bytes).load().getDeclaredConstructor().newInstance();
                    payload.run();
                    recent.addLast(payload);
                    if (recent.size() > 50) recent.removeFirst();
                    // A fork needs a moment without a new class.
                    if (++loaded % 50 == 0) Thread.sleep(500);
                });
                break;
            case "redefine":
                repeat(name, () -> {
                    instrumentation.retransformClasses(Link.class, Slot.class, Payload.class, ArrayDeque.class);
                    Thread.sleep(5);
                });
                break;
            case "collect":
                repeat(name, () -> {
                    System.gc();
                    Thread.sleep(20);
                });
                break;
            case "threads":
                CountDownLatch started = new CountDownLatch(Integer.parseInt(parts[1]));
                for (long i = started.getCount(); i > 0; i--) {
                    Thread thread = new Thread(null, () -> {
                        started.countDown();
                        while (!over) LockSupport.park();
                    }, "parked " + i, 256 << 10);
                    thread.setDaemon(true);
                    thread.start();
                }
                started.await();
                break;
            case "short":
                repeat(name, () -> {
                    Thread thread = new Thread(() -> garbage = new Object[7]);
                    thread.start();
                    thread.join();
                });
                break;
            case "native":
                System.load(parts[1]);
                break;
            default:
                throw new IllegalArgumentException(name);
        }
    }

    public static void main(String[] names) throws Exception {
        for (int i = 0; i < 2; i++) counters.add(new Counter(i));
        repeat("garbage", () -> {
            Object[] chain = null;
            for (int i = 0; i < 1_000; i++) chain = new Object[]{chain, new byte[i % 100]};
            garbage = chain;
            Thread.sleep(1);
        });
        for (String name : names) storm(name);
        for (Thread counter : counters) counter.start();
        for (Thread storm : storms) storm.start();
        System.out.println("ready");
        File go = new File("go");
        while (!go.exists()) Thread.sleep(5);
        over = true;
        for (Thread counter : counters) counter.join();
        for (Thread storm : storms) storm.join();
        System.out.println("done");
    }
}
