// only variants
// variant requests: -Dleaks=requests
// variant lambdas: -Dleaks=lambdas
// variant contexts: -Dleaks=contexts
// variant bytekeys: -Dleaks=bytekeys
// variant twice: -Dleaks=twice
// variant scripts: -Dleaks=scripts
// variant backlog: -Dleaks=backlog
// variant phantoms: -Dleaks=phantoms
// variant sublists: -Dleaks=sublists
// variant interned: -Dleaks=interned
// variant bounded: -Dleaks=bounded
// variant connections: -Dleaks=connections
// variant weakcache: -Dleaks=weakcache
// variant softmap: -Dleaks=softmap
// variant reference: -Dleaks=reference
// variant readbuffer: -Dleaks=readbuffer
// variant routes: -Dleaks=routes
// variant metrics: -Dleaks=metrics
// variant memo: -Dleaks=memo
// variant expiring: -Dleaks=expiring
import java.io.InputStream;
import java.lang.ref.PhantomReference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.IntSupplier;
import java.util.function.Supplier;

/**
 * Ten programs that leak and ten that do not, as `Leaks`, of other kinds. They were written before any tool was run on them, so that a rule
 * could be made with `Leaks` and judged by these.
 */
public class Unseen {
    interface Part { void tick(int tick) throws Exception; }

    static final int TICKS = 300;
    /** The least time that a tick takes; and the least that all take, in times of what it took to start. */
    static final int MILLIS = 20;
    static final int STARTS = 7;

    // Leaks.

    /** What is known of each request, for good. */
    static class Request { final byte[] body = new byte[9_000]; }
    static class Audit { static final Map<Long, Request> REQUESTS = new ConcurrentHashMap<>(); }
    static void requests(int tick) { for (int i = 0; i < 4; i++) Audit.REQUESTS.put(4L * tick + i, new Request()); }

    /** A lambda for each window that was opened, in a list that nobody removes them from. */
    static class Window {
        final byte[] pixels = new byte[3_000];
        IntSupplier repainter() { return () -> pixels.length; }
    }
    static class Display { static final List<IntSupplier> REPAINTERS = new CopyOnWriteArrayList<>(); }
    static void lambdas(int tick) { Display.REPAINTERS.add(new Window().repainter()); }

    /** Variables of four threads of a pool, each a map with an entry for each user. */
    static class Context { final byte[] data = new byte[12_000]; }
    static class Contexts {
        static final ThreadLocal<Map<String, Context>> OF_USERS = ThreadLocal.withInitial(HashMap::new);
        static final ExecutorService POOL = Executors.newFixedThreadPool(4, body -> {
            Thread thread = new Thread(body);
            thread.setDaemon(true);
            return thread;
        });
    }
    static void contexts(int tick) throws Exception {
        for (int i = 0; i < 4; i++) {
            String user = "user " + (4 * tick + i);
            Contexts.POOL.submit(() -> Contexts.OF_USERS.get().put(user, new Context())).get();
        }
    }

    /** Arrays as keys, which are equal to none. */
    static class Digest { final long[] words = new long[4_000]; }
    static class Digests { static final Map<byte[], Digest> ALL = new HashMap<>(); }
    static void bytekeys(int tick) { Digests.ALL.computeIfAbsent(new byte[] {(byte) (tick % 20)}, key -> new Digest()); }

    /** Removed from the map, but not from the list. */
    static class Login { final byte[] data = new byte[30_000]; }
    static class Logins {
        static final Map<Integer, Login> BY_ID = new HashMap<>();
        static final List<Login> IN_ORDER = new ArrayList<>();
    }
    static void twice(int tick) {
        Login login = new Login();
        Logins.BY_ID.put(tick, login);
        Logins.IN_ORDER.add(login);
        Logins.BY_ID.remove(tick - 10);
    }

    /** A loader for each script, in a map by the text of the script. */
    public static class Script { public static final int[] CONSTANTS = new int[40_000]; }
    static class ScriptLoader extends ClassLoader {
        ScriptLoader() { super(null); }
        Class<?> define(byte[] code) throws Exception {
            Class<?> defined = defineClass("Unseen$Script", code, 0, code.length);
            defined.getDeclaredConstructor().newInstance();
            return defined;
        }
    }
    static class Scripts { static final Map<String, Class<?>> COMPILED = new HashMap<>(); static byte[] code; }
    static void scripts(int tick) throws Exception {
        if (Scripts.code == null) {
            try (InputStream in = Unseen.class.getResourceAsStream("Unseen$Script.class")) {
                Scripts.code = in.readAllBytes();
            }
        }
        if (tick % 3 == 0) Scripts.COMPILED.put("x = " + tick, new ScriptLoader().define(Scripts.code));
    }

    /** A queue whose consumer is slower than its producers. */
    static class Message { final byte[] payload = new byte[5_000]; }
    static class Outbox { static final LinkedBlockingQueue<Message> WAITING = new LinkedBlockingQueue<>(); }
    static void backlog(int tick) {
        for (int i = 0; i < 12; i++) Outbox.WAITING.add(new Message());
        for (int i = 0; i < 5; i++) Truth.kept = Outbox.WAITING.poll();
    }

    /** What is to be closed when something is gone, from a queue that nobody reads. */
    static class Closing extends PhantomReference<Object> {
        final byte[] state = new byte[20_000];
        Closing(Object closed) { super(closed, QUEUE); }
        static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
        static final Set<Closing> ALL = new HashSet<>();
    }
    static void phantoms(int tick) { Closing.ALL.add(new Closing(new Object())); }

    /** The first line of each page, which is a part of all its lines. */
    static class Line { final byte[] text = new byte[400]; }
    static class Titles { static final List<List<Line>> ALL = new ArrayList<>(); }
    static void sublists(int tick) {
        List<Line> lines = new ArrayList<>();
        for (int i = 0; i < 60; i++) lines.add(new Line());
        Titles.ALL.add(lines.subList(0, 1));
    }

    /** A table of texts so that equal ones are kept once; none of them are equal. */
    static class Texts { static final Map<String, String> UNIQUE = new HashMap<>(); }
    static void interned(int tick) {
        for (int i = 0; i < 200; i++) {
            String text = "a text with a number, " + (200 * tick + i) + ", that is unlike all others";
            Texts.UNIQUE.putIfAbsent(text, text);
        }
    }

    // No leaks.

    /** A cache of a class of its own, which removes the oldest entry when it is full. */
    static class Answer { final byte[] text = new byte[20_000]; }
    static class Answers {
        private final int maxEntries;
        private final Map<Integer, Answer> entries = new LinkedHashMap<>();
        Answers(int maxEntries) { this.maxEntries = maxEntries; }
        void put(int key, Answer answer) {
            if (entries.size() >= maxEntries) entries.remove(entries.keySet().iterator().next());
            entries.put(key, answer);
        }
        static final Answers CACHE = new Answers(500);
        static int next;
    }
    static void bounded(int tick) { for (int i = tick == 0 ? 500 : 5; i > 0; i--) Answers.CACHE.put(Answers.next++, new Answer()); }

    /** A pool of connections that is at its maximum; some are replaced. */
    static class Connection { final byte[] buffer = new byte[64_000]; }
    static class ConnectionPool {
        final int maxTotal = 150;
        final ArrayDeque<Connection> idle = new ArrayDeque<>();
        static final ConnectionPool ONLY = new ConnectionPool();
    }
    static void connections(int tick) {
        ConnectionPool pool = ConnectionPool.ONLY;
        while (pool.idle.size() < pool.maxTotal) pool.idle.addLast(new Connection());
        pool.idle.addLast(pool.idle.pollFirst());
        if (tick % 10 == 0) pool.idle.pollFirst();
    }

    /** A weak cache of a class of its own, which removes entries whose keys are gone once in a while. */
    static class Weakly extends WeakReference<Object> {
        final byte[] value = new byte[25_000];
        Weakly(Object key) { super(key, WeakCache.GONE); }
    }
    static class WeakCache {
        static final ReferenceQueue<Object> GONE = new ReferenceQueue<>();
        static final Set<Object> ALL = new HashSet<>();
    }
    static void weakcache(int tick) {
        for (int i = 0; i < 2; i++) WeakCache.ALL.add(new Weakly(new Object()));
        if (tick % 400 == 399) for (Object gone; (gone = WeakCache.GONE.poll()) != null;) WeakCache.ALL.remove(gone);
    }

    /** Thumbnails that may go when memory is short. */
    static class Thumbnail { final byte[] pixels = new byte[30_000]; }
    static class Thumbnails { static final Map<String, SoftReference<Thumbnail>> ALL = new ConcurrentHashMap<>(); }
    static void softmap(int tick) {
        if (tick < 100) for (int i = 0; i < 3; i++) Thumbnails.ALL.put(tick + "/" + i, new SoftReference<>(new Thumbnail()));
    }

    /** Countries, cities and rates, which are read at the start. */
    static class City { final String name; final byte[] facts = new byte[300]; City(String name) { this.name = name; } }
    static class Cities { static final Map<String, City> BY_NAME = new HashMap<>(); }
    static void reference(int tick) {
        if (tick == 0) for (int i = 0; i < 25_000; i++) Cities.BY_NAME.put("city " + i, new City("city " + i));
        Truth.kept = Cities.BY_NAME.get("city " + tick);
    }

    /** A large buffer in which a file is read. */
    static class Reader {
        final byte[] buffer = new byte[9_000_000];
        int position;
        static final Reader ONLY = new Reader();
    }
    static void readbuffer(int tick) { Reader.ONLY.buffer[Reader.ONLY.position = tick * 20_000] = 1; }

    /** Routes that are loaded again and replace the old ones. */
    static class Route { final byte[] rules = new byte[3_000]; }
    static class Routes { static final AtomicReference<Map<String, Route>> CURRENT = new AtomicReference<>(); }
    static void routes(int tick) {
        if (tick % 60 > 0) return;
        Map<String, Route> loaded = new HashMap<>();
        for (int i = 0; i < 3_000; i++) loaded.put("/path/" + i, new Route());
        Routes.CURRENT.set(loaded);
    }

    /** A histogram for each of 200 names of metrics. */
    static class Metric { final long[] counts = new long[4_000]; void add(int value) { counts[value % counts.length]++; } }
    static class Metrics { static final Map<String, Metric> REGISTRY = new ConcurrentHashMap<>(); }
    static void metrics(int tick) {
        for (int i = 0; i < 200; i++) Metrics.REGISTRY.computeIfAbsent("metric " + i, name -> new Metric()).add(tick);
    }

    /** Results for each of 400 arguments, computed when they are needed first. */
    static class Result { final double[] values = new double[3_000]; Result(int of) { Arrays.fill(values, of); } }
    static class Results { static final Result[] MEMO = new Result[400]; }
    static void memo(int tick) {
        for (int i = 0; i < 40; i++) {
            int of = (7 * tick + 11 * i) % Results.MEMO.length;
            if (Results.MEMO[of] == null) Results.MEMO[of] = new Result(of);
        }
    }

    /** Sessions that end 40 ticks after they began. */
    static class Visit implements Comparable<Visit> {
        final long expiresAt;
        final int id;
        final byte[] data = new byte[15_000];
        Visit(int id, long expiresAt) { this.id = id; this.expiresAt = expiresAt; }
        @Override public int compareTo(Visit other) { return Long.compare(expiresAt, other.expiresAt); }
    }
    static class VisitStore {
        static final Map<Integer, Visit> BY_ID = new HashMap<>();
        static final PriorityQueue<Visit> BY_TIME = new PriorityQueue<>();
        static int next;
    }
    static void expiring(int tick) {
        long now = System.currentTimeMillis();
        while (!VisitStore.BY_TIME.isEmpty() && VisitStore.BY_TIME.peek().expiresAt <= now) VisitStore.BY_ID.remove(VisitStore.BY_TIME.poll().id);
        for (int i = 0; i < 15; i++) {
            Visit visit = new Visit(VisitStore.next++, now + 40 * MILLIS);
            VisitStore.BY_ID.put(visit.id, visit);
            VisitStore.BY_TIME.add(visit);
        }
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
            case "requests": return Unseen::requests;
            case "lambdas": return Unseen::lambdas;
            case "contexts": return Unseen::contexts;
            case "bytekeys": return Unseen::bytekeys;
            case "twice": return Unseen::twice;
            case "scripts": return Unseen::scripts;
            case "backlog": return Unseen::backlog;
            case "phantoms": return Unseen::phantoms;
            case "sublists": return Unseen::sublists;
            case "interned": return Unseen::interned;
            case "bounded": return Unseen::bounded;
            case "connections": return Unseen::connections;
            case "weakcache": return Unseen::weakcache;
            case "softmap": return Unseen::softmap;
            case "reference": return Unseen::reference;
            case "readbuffer": return Unseen::readbuffer;
            case "routes": return Unseen::routes;
            case "metrics": return Unseen::metrics;
            case "memo": return Unseen::memo;
            case "expiring": return Unseen::expiring;
            default: throw new IllegalArgumentException(name);
        }
    }

    /** The class that piles up, and what holds it. */
    static String leak(String name) {
        switch (name) {
            case "requests": return "Unseen$Request Unseen$Audit";
            case "lambdas": return "Unseen$Window Unseen$Display";
            case "contexts": return "Unseen$Context Unseen$Contexts";
            case "bytekeys": return "Unseen$Digest Unseen$Digests";
            case "twice": return "Unseen$Login Unseen$Logins";
            case "scripts": return "Unseen$Script Unseen$ScriptLoader Unseen$Scripts";
            case "backlog": return "Unseen$Message Unseen$Outbox";
            case "phantoms": return "Unseen$Closing";
            case "sublists": return "Unseen$Line Unseen$Titles";
            case "interned": return "Unseen$Texts";
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
