import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Leaks, and what looks like leaks, each as programs have them. Arguments: the milliseconds and the number of ticks, the objects
 * that die in each, after how many ticks a collection is forced (0: never), and the names of what runs. Known answer:
 *
 * Leaks: `slow`, one `$Slow` a tick; `sessions`, a map of `$Session` by name, where one of five is not removed; `listeners`, one
 * `$Listener` a tick, which is registered and forgotten; `threads`, one `$Entry` a tick in a thread-local list of each of four
 * threads; `blobs`, an array of 64 KB a tick, which samples find too; `backlog`, a queue of `$Task` to which ten a tick are added and from which four are taken.
 *
 * No leaks: `cache=N`, so many `$Cached` from the start; `lru`, the 2,000 `$Used` that were used last, of which 20 a tick are new;
 * `weak`, 50 `$Described` a tick in a weak map whose keys die; `pool`, 50 `$Connection`, the oldest of which is replaced in
 * each tick; `reload`, 1,000 `$Setting` that are replaced by others every 100 ticks.
 */
public class Leaks {
    static class Slow { long a; }
    static class Cached { long a, b, c, d, e, f, g, h, i, j; }
    static class Garbage { long a; }
    static class Used { long a; }
    static class Described { long a; }
    static class Connection { final byte[] buffer = new byte[64]; }
    static class Setting { long a; }
    static class Entry { long a; }
    static class Task { final byte[] order = new byte[32]; }

    static class Session {
        final Map<String, Object> attributes = new HashMap<>();

        Session(int number) {
            attributes.put("number", number);
        }
    }

    static class Listener implements Runnable {
        final byte[] request = new byte[100];

        @Override public void run() { request[0]++; }
    }

    static class Lru extends LinkedHashMap<Integer, Used> {
        Lru() { super(16, 0.75f, true); }

        @Override protected boolean removeEldestEntry(Map.Entry<Integer, Used> eldest) { return size() > 2_000; }
    }

    /** What is done in each tick. */
    interface Part { void tick(int tick) throws Exception; }

    static volatile Object sink;

    static final List<Object> slow = new ArrayList<>();

    static void slow(int tick) { slow.add(new Slow()); }

    static final Map<String, Session> sessions = new ConcurrentHashMap<>();

    static String user(int number) { return "user " + number; }

    static void sessions(int tick) {
        for (int i = 0; i < 5; i++) {
            int number = 5 * tick + i;
            sessions.put(user(number), new Session(number));
            // Who logs in fifth never logs out.
            int gone = number - 25;
            if (gone % 5 != 4) sessions.remove(user(gone));
        }
    }

    static final List<Runnable> listeners = new ArrayList<>();

    static void listeners(int tick) {
        listeners.add(new Listener());
        for (Runnable listener : listeners) listener.run();
    }

    static final int THREADS = 4;
    static final ThreadLocal<List<Entry>> entries = ThreadLocal.withInitial(ArrayList::new);
    static final ExecutorService[] workers = new ExecutorService[THREADS];

    static void threads(int tick) throws Exception {
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            if (workers[i] == null) {
                String name = "worker " + i;
                workers[i] = Executors.newSingleThreadExecutor(body -> {
                    Thread thread = new Thread(body, name);
                    thread.setDaemon(true);
                    return thread;
                });
            }
            all.add(workers[i].submit(() -> entries.get().add(new Entry())));
        }
        for (Future<?> one : all) one.get();
    }

    static final List<byte[]> blobs = new ArrayList<>();

    static void blobs(int tick) {
        blobs.add(new byte[64 << 10]);
    }

    static final ArrayDeque<Task> backlog = new ArrayDeque<>();

    static void backlog(int tick) {
        for (int i = 0; i < 10; i++) backlog.add(new Task());
        for (int i = 0; i < 4; i++) sink = backlog.remove();
    }

    static Object[] cache;

    static Part cache(int size) {
        cache = new Object[size];
        for (int i = 0; i < size; i++) cache[i] = new Cached();
        return tick -> { };
    }

    static final Lru lru = new Lru();
    static int used;

    static void lru(int tick) {
        for (int wanted = tick == 0 ? 2_000 : 20; wanted > 0; wanted--) lru.put(used++, new Used());
    }

    static final Map<Object, Described> weak = new WeakHashMap<>();

    static void weak(int tick) {
        for (int i = 0; i < 50; i++) weak.put(new Object(), new Described());
    }

    static final ArrayDeque<Connection> pool = new ArrayDeque<>();

    static void pool(int tick) {
        while (pool.size() < 50) pool.add(new Connection());
        pool.remove();
        pool.add(new Connection());
    }

    static Object[] settings;

    static void reload(int tick) {
        if (tick % 100 > 0) return;
        Object[] loaded = new Object[1_000];
        for (int i = 0; i < loaded.length; i++) loaded[i] = new Setting();
        settings = loaded;
    }

    static Part part(String argument) {
        String[] name = argument.split("=");
        switch (name[0]) {
            case "slow": return Leaks::slow;
            case "sessions": return Leaks::sessions;
            case "listeners": return Leaks::listeners;
            case "threads": return Leaks::threads;
            case "blobs": return Leaks::blobs;
            case "backlog": return Leaks::backlog;
            case "cache": return cache(Integer.parseInt(name[1]));
            case "lru": return Leaks::lru;
            case "weak": return Leaks::weak;
            case "pool": return Leaks::pool;
            case "reload": return Leaks::reload;
            default: throw new IllegalArgumentException(argument);
        }
    }

    public static void main(String[] args) throws Exception {
        int millis = Integer.parseInt(args[0]);
        int ticks = Integer.parseInt(args[1]);
        int garbage = Integer.parseInt(args[2]);
        int forced = Integer.parseInt(args[3]);
        List<Part> parts = new ArrayList<>();
        for (int i = 4; i < args.length; i++) parts.add(part(args[i]));
        System.out.println("ready");
        long begin = System.nanoTime();
        for (int tick = 0; tick < ticks; tick++) {
            for (Part part : parts) part.tick(tick);
            for (int i = 0; i < garbage; i++) sink = new Garbage();
            sink = null;
            if (forced > 0 && tick % forced == forced - 1) System.gc();
            long wait = begin + (tick + 1) * millis * 1_000_000L - System.nanoTime();
            if (wait > 0) Thread.sleep(wait / 1_000_000);
        }
        System.out.println("done");
    }
}
