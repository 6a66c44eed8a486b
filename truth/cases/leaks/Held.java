// only variants
// variant beans: -Dleaks=beans
// variant subscribers: -Dleaks=subscribers
// variant timers: -Dleaks=timers
// variant futures: -Dleaks=futures
// variant visited: -Dleaks=visited
// variant batch: -Dleaks=batch
// variant tree: -Dleaks=tree
// variant handlers: -Dleaks=handlers
// variant undo: -Dleaks=undo
// variant errors: -Dleaks=errors
// variant segments: -Dleaks=segments
// variant ring: -Dleaks=ring
// variant work: -Dleaks=work
// variant expiry: -Dleaks=expiry
// variant buffers: -Dleaks=buffers
// variant symbols: -Dleaks=symbols
// variant plugins: -Dleaks=plugins
// variant models: -Dleaks=models
// variant accumulate: -Dleaks=accumulate
// variant attached: -Dleaks=attached
import java.io.InputStream;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CopyOnWriteArraySet;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;

/**
 * Ten programs that leak and ten that do not, as `Leaks` and `Unseen`, with the shapes that frameworks have. They were written when the rules were
 * done, and before any tool was run on them.
 */
public class Held {
    interface Part { void tick(int tick) throws Exception; }

    static final int TICKS = 300;
    /** The least time that a tick takes; and the least that all take, in times of what it took to start. */
    static final int MILLIS = 20;
    static final int STARTS = 7;

    // Leaks.

    /** Objects of a container's scope that nobody ends: one map for each scope, as dependency injection has them. */
    static class Bean { final byte[] state = new byte[2_500]; }
    static class Scope {
        final Map<String, Object> instances = new ConcurrentHashMap<>();
        static final Map<String, Scope> OPEN = new ConcurrentHashMap<>();
    }
    static void beans(int tick) {
        Scope scope = Scope.OPEN.computeIfAbsent("conversation " + tick, name -> new Scope());
        for (int i = 0; i < 12; i++) scope.instances.put("bean " + i, new Bean());
    }

    /** Subscribers of topics; those of closed connections stay. */
    static class Subscriber implements Consumer<String> {
        final byte[] buffer = new byte[8_000];
        @Override public void accept(String event) { buffer[event.length()]++; }
    }
    static class Topics { static final Map<String, CopyOnWriteArraySet<Subscriber>> BY_NAME = new HashMap<>(); }
    static void subscribers(int tick) {
        for (int i = 0; i < 4; i++) Topics.BY_NAME.computeIfAbsent("topic " + i, name -> new CopyOnWriteArraySet<>()).add(new Subscriber());
    }

    /** A timeout for each request, due in a day, that is not cancelled when the answer comes. */
    static class Timeout implements Runnable {
        final byte[] request = new byte[15_000];
        @Override public void run() { request[0] = 1; }
    }
    static class Timers {
        static final ScheduledThreadPoolExecutor ALL = new ScheduledThreadPoolExecutor(1, body -> {
            Thread thread = new Thread(body, "timers");
            thread.setDaemon(true);
            return thread;
        });
    }
    static void timers(int tick) { for (int i = 0; i < 2; i++) Timers.ALL.schedule(new Timeout(), 1, TimeUnit.DAYS); }

    /** Futures of requests whose answers were lost. */
    static class Pending extends CompletableFuture<String> { final byte[] request = new byte[10_000]; }
    static class Calls { static final Map<Long, Pending> OPEN = new ConcurrentHashMap<>(); }
    static void futures(int tick) {
        for (long i = 0; i < 10; i++) {
            long id = 10L * tick + i;
            Calls.OPEN.put(id, new Pending());
            if (i % 4 != 0) Calls.OPEN.remove(id).complete("answer");
        }
    }

    /** A crawler's pages, which its set of visited ones keeps whole. */
    static class Page {
        final int url;
        final char[] content = new char[3_000];
        Page(int url) { this.url = url; }
        @Override public int hashCode() { return url; }
        @Override public boolean equals(Object other) { return other instanceof Page && ((Page) other).url == url; }
    }
    static class Crawler { final Set<Page> visited = new LinkedHashSet<>(); static final Crawler ONLY = new Crawler(); }
    static void visited(int tick) { for (int i = 0; i < 5; i++) Crawler.ONLY.visited.add(new Page(5 * tick + i)); }

    /** A persistence context that is never cleared during a long batch. */
    static class Row { final Object[] columns = new Object[12]; Row(int id) { for (int i = 0; i < 12; i++) columns[i] = "column " + i + " of " + id; } }
    static class UnitOfWork {
        final IdentityHashMap<Row, Object[]> snapshots = new IdentityHashMap<>();
        static final ThreadLocal<UnitOfWork> CURRENT = ThreadLocal.withInitial(UnitOfWork::new);
    }
    static void batch(int tick) {
        for (int i = 0; i < 20; i++) {
            Row row = new Row(20 * tick + i);
            UnitOfWork.CURRENT.get().snapshots.put(row, row.columns.clone());
        }
    }

    /** A series of measurements by their times, from which the old ones are not removed. */
    static class Sample { final double[] values = new double[250]; }
    static class Series { static final ConcurrentSkipListMap<Long, Sample> BY_TIME = new ConcurrentSkipListMap<>(); }
    static void tree(int tick) { for (int i = 0; i < 12; i++) Series.BY_TIME.put(100L * tick + i, new Sample()); }

    /** Each reload of the settings wraps the handler once more. */
    static class Decorator { final Decorator inner; final byte[] settings = new byte[20_000]; Decorator(Decorator inner) { this.inner = inner; } }
    static class Server { static Decorator handler; }
    static void handlers(int tick) { Server.handler = new Decorator(Server.handler); }

    /** All edits of a document, to undo them. */
    static class Edit { final byte[] before = new byte[5_000]; }
    static class Document { final ArrayDeque<Edit> undo = new ArrayDeque<>(); }
    static class Editor { static final List<Document> OPEN = List.of(new Document(), new Document()); }
    static void undo(int tick) { for (int i = 0; i < 6; i++) Editor.OPEN.get(i % 2).undo.push(new Edit()); }

    /** Exceptions with their context, for a report that nobody asks for. */
    static class Problem extends RuntimeException { final byte[] context = new byte[10_000]; Problem(int tick) { super("problem " + tick); } }
    static class Problems { static final Vector<Throwable> SEEN = new Vector<>(); }
    static void errors(int tick) { for (int i = 0; i < 3; i++) Problems.SEEN.add(new RuntimeException(new Problem(tick))); }

    // No leaks.

    /** A cache of segments, each of which evicts what was used longest ago. */
    static class Cached { final byte[] value = new byte[14_000]; }
    static class Segment {
        final int capacity = 40;
        final LinkedHashMap<Integer, Cached> entries = new LinkedHashMap<>(16, 0.75f, true) {
            @Override protected boolean removeEldestEntry(Map.Entry<Integer, Cached> eldest) { return size() > capacity; }
        };
    }
    static class SegmentedCache {
        final Segment[] segments = new Segment[16];
        SegmentedCache() { Arrays.setAll(segments, i -> new Segment()); }
        static final SegmentedCache ONLY = new SegmentedCache();
    }
    static void segments(int tick) { for (int i = 0; i < 10; i++) { int key = 10 * tick + i; SegmentedCache.ONLY.segments[key % 16].entries.put(key, new Cached()); } }

    /** The last events, in a ring. */
    static class Event { final byte[] text = new byte[3_000]; }
    static class Ring { final Event[] slots = new Event[2_000]; int next; static final Ring LAST = new Ring(); }
    static void ring(int tick) { for (int i = 0; i < 30; i++) Ring.LAST.slots[Ring.LAST.next++ % 2_000] = new Event(); }

    /** A queue with a capacity, which producers keep full. */
    static class Job { final byte[] input = new byte[12_000]; }
    static class Jobs { static final LinkedBlockingQueue<Job> WAITING = new LinkedBlockingQueue<>(500); }
    static void work(int tick) {
        for (int i = 0; i < 8 && !Jobs.WAITING.isEmpty() && tick > 80; i++) Truth.kept = Jobs.WAITING.poll();
        while (Jobs.WAITING.offer(new Job()) && tick >= 0) if (tick < 80 && Jobs.WAITING.size() % 7 == 0) break;
    }

    /** Sessions by their ids, removed by a sweep when they were not used for a while. */
    static class UserSession { volatile long lastAccess; final byte[] data = new byte[14_000]; }
    static class SessionManager { static final ConcurrentHashMap<String, UserSession> ACTIVE = new ConcurrentHashMap<>(); }
    static void expiry(int tick) {
        for (int i = 0; i < 14; i++) { UserSession made = new UserSession(); made.lastAccess = tick; SessionManager.ACTIVE.put("id " + (14 * tick + i), made); }
        SessionManager.ACTIVE.values().removeIf(session -> session.lastAccess < tick - 30);
    }

    /** A buffer for each thread of a pool. */
    static class Buffers {
        static final ThreadLocal<byte[]> OF_THREAD = ThreadLocal.withInitial(() -> new byte[1_200_000]);
        static final ExecutorService POOL = Executors.newFixedThreadPool(8, body -> {
            Thread thread = new Thread(body);
            thread.setDaemon(true);
            return thread;
        });
    }
    static void buffers(int tick) throws Exception { Buffers.POOL.submit(() -> Buffers.OF_THREAD.get()[tick] = 1).get(); }

    /** A table of the words of a language. */
    static class Word { final String text; final int[] uses = new int[60]; Word(String text) { this.text = text; } }
    static class Dictionary { static final Map<String, Word> WORDS = new ConcurrentHashMap<>(); }
    static void symbols(int tick) {
        if (tick < 30) for (int i = 0; i < 1_000; i++) Dictionary.WORDS.computeIfAbsent("word " + (1_000 * tick + i), Word::new);
        for (int i = 0; i < 100; i++) Truth.kept = Dictionary.WORDS.computeIfAbsent("word " + (37 * tick + i) % 30_000, Word::new);
    }

    /** Plugins, each with its loader, which are there from start to end. */
    public static class Plugin { public static final byte[] DATA = new byte[900_000]; }
    static class PluginLoader extends ClassLoader {
        PluginLoader() { super(null); }
        Class<?> define(byte[] code) throws Exception {
            Class<?> defined = defineClass("Held$Plugin", code, 0, code.length);
            defined.getDeclaredConstructor().newInstance();
            return defined;
        }
    }
    static class Plugins { static final Map<String, Class<?>> LOADED = new HashMap<>(); }
    static void plugins(int tick) throws Exception {
        if (tick > 0) return;
        try (InputStream in = Held.class.getResourceAsStream("Held$Plugin.class")) {
            byte[] code = in.readAllBytes();
            for (int i = 0; i < 10; i++) Plugins.LOADED.put("plugin " + i, new PluginLoader().define(code));
        }
    }

    /** The weights of a model: rows of numbers, made at the start. */
    static class Layer { final float[][] weights = new float[300][]; Layer() { for (int i = 0; i < 300; i++) weights[i] = new float[800]; } }
    static class Model { final List<Layer> layers = new ArrayList<>(); static final Model ONLY = new Model(); }
    static void models(int tick) { if (tick < 10) Model.ONLY.layers.add(new Layer()); }

    /** Rows that wait until there are enough of them for a batch. */
    static class Waiting { final byte[] row = new byte[7_000]; }
    static class Batches { static List<Waiting> open = new ArrayList<>(); }
    static void accumulate(int tick) {
        for (int i = 0; i < 70; i++) Batches.open.add(new Waiting());
        if (Batches.open.size() >= 1_500) Batches.open = new ArrayList<>();
    }

    /** Windows that open and close: each removes its listener. */
    static class Pane implements Runnable { final byte[] pixels = new byte[180_000]; @Override public void run() { pixels[0]++; } }
    static class Desktop { static final List<Runnable> LISTENERS = new CopyOnWriteArrayList<>(); static final ArrayDeque<Pane> OPEN = new ArrayDeque<>(); }
    static void attached(int tick) {
        Pane pane = new Pane();
        Desktop.OPEN.add(pane);
        Desktop.LISTENERS.add(pane);
        if (Desktop.OPEN.size() > 40) Desktop.LISTENERS.remove(Desktop.OPEN.poll());
    }

    // What all programs keep.

    static class Kind { final byte[] data = new byte[2_000]; }
    static Kind[] kinds(Supplier<Kind> of) {
        Kind[] all = new Kind[500];
        for (int i = 0; i < all.length; i++) all[i] = of.get();
        return all;
    }
    static class Kind1 extends Kind { static final Kind[] ALL = kinds(Kind1::new); }
    static class Kind2 extends Kind { static final Kind[] ALL = kinds(Kind2::new); }
    static class Kind3 extends Kind { static final Kind[] ALL = kinds(Kind3::new); }
    static class Kind4 extends Kind { static final Kind[] ALL = kinds(Kind4::new); }
    static class Kind5 extends Kind { static final Kind[] ALL = kinds(Kind5::new); }
    static class Kind6 extends Kind { static final Kind[] ALL = kinds(Kind6::new); }
    static class Kind7 extends Kind { static final Kind[] ALL = kinds(Kind7::new); }
    static class Kind8 extends Kind { static final Kind[] ALL = kinds(Kind8::new); }
    static class Kind9 extends Kind { static final Kind[] ALL = kinds(Kind9::new); }
    static class Kind10 extends Kind { static final Kind[] ALL = kinds(Kind10::new); }
    static class Kind11 extends Kind { static final Kind[] ALL = kinds(Kind11::new); }
    static class Kind12 extends Kind { static final Kind[] ALL = kinds(Kind12::new); }

    static Part part(String name) {
        switch (name) {
            case "beans": return Held::beans;
            case "subscribers": return Held::subscribers;
            case "timers": return Held::timers;
            case "futures": return Held::futures;
            case "visited": return Held::visited;
            case "batch": return Held::batch;
            case "tree": return Held::tree;
            case "handlers": return Held::handlers;
            case "undo": return Held::undo;
            case "errors": return Held::errors;
            case "segments": return Held::segments;
            case "ring": return Held::ring;
            case "work": return Held::work;
            case "expiry": return Held::expiry;
            case "buffers": return Held::buffers;
            case "symbols": return Held::symbols;
            case "plugins": return Held::plugins;
            case "models": return Held::models;
            case "accumulate": return Held::accumulate;
            case "attached": return Held::attached;
            default: throw new IllegalArgumentException(name);
        }
    }

    /** The class that piles up, and what holds it. */
    static String leak(String name) {
        switch (name) {
            case "beans": return "Held$Bean Held$Scope";
            case "subscribers": return "Held$Subscriber Held$Topics";
            case "timers": return "Held$Timeout Held$Timers";
            case "futures": return "Held$Pending Held$Calls";
            case "visited": return "Held$Page Held$Crawler";
            case "batch": return "Held$Row Held$UnitOfWork";
            case "tree": return "Held$Sample Held$Series";
            case "handlers": return "Held$Decorator Held$Server";
            case "undo": return "Held$Edit Held$Editor";
            case "errors": return "Held$Problem Held$Problems";
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
            for (int i = 0; i < 20; i++) Truth.kept = new byte[1_000];
            long wait = begin + (tick + 1) * nanos - System.nanoTime();
            if (wait > 0) Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
        }
        Truth.kept = null;
        Truth.ready();
        Truth.sink = all.length;
        System.out.println(("fact leak " + name + " " + leak(name)).trim());
    }
}
