// only variants
// variant list: -Dleaks=list
// variant map: -Dleaks=map
// variant listeners: -Dleaks=listeners
// variant local: -Dleaks=local
// variant queue: -Dleaks=queue
// variant loaders: -Dleaks=loaders
// variant inner: -Dleaks=inner
// variant weakvalues: -Dleaks=weakvalues
// variant chain: -Dleaks=chain
// variant keys: -Dleaks=keys
// variant cache: -Dleaks=cache
// variant lru: -Dleaks=lru
// variant pool: -Dleaks=pool
// variant weak: -Dleaks=weak
// variant reload: -Dleaks=reload
// variant spread: -Dleaks=spread
// variant sessions: -Dleaks=sessions
// variant soft: -Dleaks=soft
// variant table: -Dleaks=table
// variant unloaded: -Dleaks=unloaded
import java.io.InputStream;
import java.lang.ref.SoftReference;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.WeakHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/**
 * Ten programs that leak and ten that do not, for six seconds each, or longer where the VM was slow to start. All keep twelve times
 * a megabyte besides, of twelve classes, as programs do: nothing of that is a tenth of the heap. A leak is named if a suspect is of the class that piles up, or of what holds it.
 */
public class Leaks {
    interface Part { void tick(int tick) throws Exception; }

    static final int TICKS = 300;
    /** The least time that a tick takes; and the least that all take, in times of what it took to start. */
    static final int MILLIS = 20;
    static final int STARTS = 7;
    /** What a leak of ordinary size adds in each tick: 10 MB in all. */
    static final int LARGE = 36_000;
    static final int SMALL = 1_000;

    // Leaks.

    /** Entries that are added and never removed. */
    static class Entry { final byte[] data = new byte[LARGE]; }
    static class Log { static final List<Entry> ENTRIES = new ArrayList<>(); }
    static void list(int tick) { Log.ENTRIES.add(new Entry()); }

    /** Of five users who log in, one never logs out. */
    static class Session { final byte[] data = new byte[LARGE]; }
    static class Users { static final Map<String, Session> SESSIONS = new HashMap<>(); }
    static void map(int tick) {
        for (int i = 5 * tick; i < 5 * tick + 5; i++) {
            Users.SESSIONS.put("user " + i, new Session());
            int gone = i - 25;
            if (gone % 5 != 4) Users.SESSIONS.remove("user " + gone);
        }
    }

    /** Listeners that are registered and forgotten: few and small. */
    static class Listener implements Runnable {
        final byte[] data = new byte[SMALL];
        @Override public void run() { data[0]++; }
    }
    static class Bus { final List<Runnable> listeners = new ArrayList<>(); static final Bus ONLY = new Bus(); }
    static void listeners(int tick) {
        Bus.ONLY.listeners.add(new Listener());
        for (Runnable listener : Bus.ONLY.listeners) listener.run();
    }

    /** A variable of a pool's thread, in which each request leaves something. */
    static class Trace { final byte[] data = new byte[LARGE]; }
    static class Pool {
        static final ThreadLocal<List<Trace>> TRACES = ThreadLocal.withInitial(ArrayList::new);
        static final ExecutorService WORKER = Executors.newSingleThreadExecutor(body -> {
            Thread thread = new Thread(body, "worker of Leaks");
            thread.setDaemon(true);
            return thread;
        });
    }
    static void local(int tick) throws Exception { Pool.WORKER.submit(() -> Pool.TRACES.get().add(new Trace())).get(); }

    /** A queue to which ten tasks a tick are added, and from which four are taken. */
    static class Task { final byte[] data = new byte[LARGE / 6]; }
    static class Backlog { static final ArrayDeque<Task> TASKS = new ArrayDeque<>(); }
    static void queue(int tick) {
        for (int i = 0; i < 10; i++) Backlog.TASKS.add(new Task());
        for (int i = 0; i < 4; i++) Truth.kept = Backlog.TASKS.remove();
    }

    /** Class loaders of plugins that were replaced. */
    public static class Plugin { public static final byte[] TABLE = new byte[5 * LARGE]; }
    static class PluginLoader extends ClassLoader {
        PluginLoader() { super(null); }
        Object load(byte[] code) throws Exception {
            return defineClass("Leaks$Plugin", code, 0, code.length).getDeclaredConstructor().newInstance();
        }
        @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
            return Leaks.class.getClassLoader().loadClass(name);
        }
    }
    static class Plugins { static final List<Object> OLD = new ArrayList<>(); static byte[] code; }
    static Object plugin() throws Exception {
        if (Plugins.code == null) {
            try (InputStream in = Leaks.class.getResourceAsStream("Leaks$Plugin.class")) {
                Plugins.code = in.readAllBytes();
            }
        }
        return new PluginLoader().load(Plugins.code);
    }
    static void loaders(int tick) throws Exception { if (tick % 5 == 0) Plugins.OLD.add(plugin()); }

    /** Callbacks that are inner classes, and so keep their pages. */
    static class Page {
        final byte[] data = new byte[LARGE];
        class Callback { int of() { return data.length; } }
    }
    static class Clicks { static final List<Page.Callback> CALLBACKS = new ArrayList<>(); }
    static void inner(int tick) { Clicks.CALLBACKS.add(new Page().new Callback()); }

    /** A weak map whose values refer to their keys. */
    static class Key { int number; }
    static class Meta {
        final Key key;
        final byte[] data = new byte[LARGE];
        Meta(Key key) { this.key = key; }
    }
    static class Metas { static final Map<Key, Meta> ALL = new WeakHashMap<>(); }
    static void weakvalues(int tick) {
        Key key = new Key();
        Metas.ALL.put(key, new Meta(key));
    }

    /** A chain that grows slowly, beside a cache that is full from the start and thirty times as large. */
    static class Link {
        Link next;
        final byte[] data = new byte[SMALL];
    }
    static class Chain { static Link head; }
    static void chain(int tick) {
        if (tick == 0) cache(tick);
        Link link = new Link();
        link.next = Chain.head;
        Chain.head = link;
    }

    /** A map whose keys are never found again, because they do not override `equals`. */
    static class Query { final int number; Query(int number) { this.number = number; } }
    static class Plan { final byte[] data = new byte[LARGE]; }
    static class Plans { static final Map<Query, Plan> BY_QUERY = new HashMap<>(); }
    static void keys(int tick) { Plans.BY_QUERY.computeIfAbsent(new Query(tick % 10), query -> new Plan()); }

    // No leaks.

    /** Full from the first tick on. */
    static class Cached { final byte[] data = new byte[LARGE]; }
    static class Cache { static final Map<Integer, Cached> ALL = new HashMap<>(); }
    static void cache(int tick) { while (Cache.ALL.size() < 300) Cache.ALL.put(Cache.ALL.size(), new Cached()); }

    /** The 300 that were used last, eight of which are new in each tick. */
    static class Used { final byte[] data = new byte[LARGE]; }
    static class Lru extends LinkedHashMap<Integer, Used> {
        static final Lru ALL = new Lru();
        static int next;
        Lru() { super(16, 0.75f, true); }
        @Override protected boolean removeEldestEntry(Map.Entry<Integer, Used> eldest) { return size() > 300; }
    }
    static void lru(int tick) { for (int i = tick == 0 ? 300 : 8; i > 0; i--) Lru.ALL.put(Lru.next++, new Used()); }

    /** Fifty buffers, the oldest of which is replaced in each tick. */
    static class Buffer { final byte[] data = new byte[64_000]; }
    static class Buffers { static final ArrayDeque<Buffer> ALL = new ArrayDeque<>(); }
    static void pool(int tick) {
        while (Buffers.ALL.size() < 50) Buffers.ALL.add(new Buffer());
        Buffers.ALL.remove();
        Buffers.ALL.add(new Buffer());
    }

    /** A weak map whose keys die. */
    static class Described { final byte[] data = new byte[2_000]; }
    static class Weak { static final Map<Object, Described> ALL = new WeakHashMap<>(); }
    static void weak(int tick) { for (int i = 0; i < 20; i++) Weak.ALL.put(new Object(), new Described()); }

    /** Settings that are read again every 100 ticks. */
    static class Setting { final byte[] data = new byte[50_000]; }
    static class Settings { static Setting[] all; }
    static void reload(int tick) {
        if (tick % 100 > 0) return;
        Setting[] loaded = new Setting[100];
        for (int i = 0; i < loaded.length; i++) loaded[i] = new Setting();
        Settings.all = loaded;
    }

    /** Garbage alone. */
    static void spread(int tick) { for (int i = 0; i < 100; i++) Truth.kept = new byte[SMALL]; }

    /** Users who stay for 50 ticks. */
    static class Visit { final byte[] data = new byte[LARGE / 2]; }
    static class Visits { static final Map<String, Visit> ALL = new HashMap<>(); }
    static void sessions(int tick) {
        for (int i = 8 * tick; i < 8 * tick + 8; i++) {
            Visits.ALL.put("visit " + i, new Visit());
            Visits.ALL.remove("visit " + (i - 400));
        }
    }

    /** What may go when memory is short. */
    static class Picture { final byte[] data = new byte[LARGE]; }
    static class Pictures { static final List<SoftReference<Picture>> ALL = new ArrayList<>(); }
    static void soft(int tick) { while (Pictures.ALL.size() < 250) Pictures.ALL.add(new SoftReference<>(new Picture())); }

    /** One large table in use. */
    static class Table { static final long[] CELLS = new long[1_200_000]; }
    static void table(int tick) { Table.CELLS[tick]++; }

    /** Plugins that are replaced and dropped. */
    static void unloaded(int tick) throws Exception { if (tick % 5 == 0) Truth.kept = plugin(); }

    // What all programs keep.

    static class Kind1 {
        final byte[] data = new byte[2_000];
        static final Kind1[] ALL = new Kind1[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind1(); }
    }
    static class Kind2 {
        final byte[] data = new byte[2_000];
        static final Kind2[] ALL = new Kind2[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind2(); }
    }
    static class Kind3 {
        final byte[] data = new byte[2_000];
        static final Kind3[] ALL = new Kind3[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind3(); }
    }
    static class Kind4 {
        final byte[] data = new byte[2_000];
        static final Kind4[] ALL = new Kind4[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind4(); }
    }
    static class Kind5 {
        final byte[] data = new byte[2_000];
        static final Kind5[] ALL = new Kind5[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind5(); }
    }
    static class Kind6 {
        final byte[] data = new byte[2_000];
        static final Kind6[] ALL = new Kind6[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind6(); }
    }
    static class Kind7 {
        final byte[] data = new byte[2_000];
        static final Kind7[] ALL = new Kind7[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind7(); }
    }
    static class Kind8 {
        final byte[] data = new byte[2_000];
        static final Kind8[] ALL = new Kind8[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind8(); }
    }
    static class Kind9 {
        final byte[] data = new byte[2_000];
        static final Kind9[] ALL = new Kind9[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind9(); }
    }
    static class Kind10 {
        final byte[] data = new byte[2_000];
        static final Kind10[] ALL = new Kind10[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind10(); }
    }
    static class Kind11 {
        final byte[] data = new byte[2_000];
        static final Kind11[] ALL = new Kind11[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind11(); }
    }
    static class Kind12 {
        final byte[] data = new byte[2_000];
        static final Kind12[] ALL = new Kind12[500];
        static { for (int i = 0; i < ALL.length; i++) ALL[i] = new Kind12(); }
    }

    static Part part(String name) {
        switch (name) {
            case "list": return Leaks::list;
            case "map": return Leaks::map;
            case "listeners": return Leaks::listeners;
            case "local": return Leaks::local;
            case "queue": return Leaks::queue;
            case "loaders": return Leaks::loaders;
            case "inner": return Leaks::inner;
            case "weakvalues": return Leaks::weakvalues;
            case "chain": return Leaks::chain;
            case "keys": return Leaks::keys;
            case "cache": return Leaks::cache;
            case "lru": return Leaks::lru;
            case "pool": return Leaks::pool;
            case "weak": return Leaks::weak;
            case "reload": return Leaks::reload;
            case "spread": return Leaks::spread;
            case "sessions": return Leaks::sessions;
            case "soft": return Leaks::soft;
            case "table": return Leaks::table;
            case "unloaded": return Leaks::unloaded;
            default: throw new IllegalArgumentException(name);
        }
    }

    /** The class that piles up, and what holds it. */
    static String leak(String name) {
        switch (name) {
            case "list": return "Leaks$Entry Leaks$Log";
            case "map": return "Leaks$Session Leaks$Users";
            case "listeners": return "Leaks$Listener Leaks$Bus";
            case "local": return "Leaks$Trace Leaks$Pool";
            case "queue": return "Leaks$Task Leaks$Backlog";
            case "loaders": return "Leaks$Plugin Leaks$PluginLoader Leaks$Plugins";
            case "inner": return "Leaks$Page Leaks$Page$Callback Leaks$Clicks";
            case "weakvalues": return "Leaks$Meta Leaks$Key Leaks$Metas";
            case "chain": return "Leaks$Link Leaks$Chain";
            case "keys": return "Leaks$Plan Leaks$Query Leaks$Plans";
            default: return "";
        }
    }

    public static void main(String[] args) throws Exception {
        String name = System.getProperty("leaks");
        Object[][] all = {
            Kind1.ALL, Kind2.ALL, Kind3.ALL, Kind4.ALL, Kind5.ALL, Kind6.ALL, Kind7.ALL, Kind8.ALL, Kind9.ALL, Kind10.ALL, Kind11.ALL,
            Kind12.ALL
        };
        Part part = part(name);
        Instant started = ProcessHandle.current().info().startInstant().orElseThrow();
        long nanos = Math.max(MILLIS * 1_000_000L, STARTS * Duration.between(started, Instant.now()).toNanos() / TICKS);
        long begin = System.nanoTime();
        for (int tick = 0; tick < TICKS; tick++) {
            part.tick(tick);
            for (int i = 0; i < 20; i++) Truth.kept = new byte[SMALL];
            long wait = begin + (tick + 1) * nanos - System.nanoTime();
            if (wait > 0) Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
        }
        Truth.kept = null;
        Truth.ready();
        Truth.sink = all.length;
        System.out.println(("fact leak " + name + " " + leak(name)).trim());
    }
}
