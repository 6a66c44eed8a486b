import io.hprof.Count;
import io.hprof.Hprof;
import io.hprof.Site;

/** Counts what known code allocates, and compares; prints "right" at its end. The answers are in the comments. */
public class Counted {
    static class Thing { int value; }
    static class Other { long value; }

    static Object[] kept = new Object[100_000];
    static int count;

    static void makeThings(int n) { for (int i = 0; i < n; i++) keep(new Thing()); }           // n Things of 16 bytes
    static void makeOthers(int n) { for (int i = 0; i < n; i++) keep(new Other()); }           // n Others of 24 bytes (16 with compact headers)
    static void keep(Object object) { kept[count++ % kept.length] = object; }
    static int noTrace(int n) {                                                                // n Things, which never escape
        int sum = 0;
        for (int i = 0; i < n; i++) { Thing thing = new Thing(); thing.value = i; sum += thing.value; }
        return sum;
    }
    static int boxes(int n) {                                                                  // n Integers, which never escape
        int sum = 0;
        for (int i = 0; i < n; i++) { Integer box = 100_000 + i; sum += box; }
        return sum;
    }

    public static void main(String[] args) throws Exception {
        makeThings(1);
        makeOthers(1);
        noTrace(1);
        boxes(1);
        empty();
        sites();
        compiled();
        nested();
        threads();
        live();
        refusals();
        System.out.println("right");
    }

    static void empty() {
        for (int i = 0; i < 3; i++) {
            try (Count counted = Hprof.count()) {
                expect(counted.objects(), 0, "nothing");
            }
        }
    }

    static void sites() {
        try (Count counted = Hprof.count()) {
            makeThings(1000);
            makeOthers(10);
            expect(counted.objects(), 1010, "objects");
            expect(counted.sites().size(), 2, "sites");
            Site things = counted.sites().get(0);
            expect(things.objects(), 1000, "things");
            expect(things.bytes(), 16_000, "their bytes");
            expect(counted.bytes(), 16_000 + counted.sites().get(1).bytes(), "bytes");
            check(things.className(), things.className().equals("Counted$Thing"));
            check(things.trace().toString(), things.trace().get(0).matches("Counted\\.makeThings\\(Counted\\.java:[0-9]+\\)"));
            check(things.trace().toString(), things.trace().get(2).startsWith("Counted.main("));
            check(counted.toString(), counted.toString().contains("1000 objects"));
            // A question ends the count.
            makeThings(5);
            expect(counted.objects(), 1010, "still");
        }
    }

    /**
     * Long enough to be compiled by every compiler, which must not remove the objects. The first time the VM makes the
     * strings of the class's literals.
     */
    static void compiled() {
        for (int round = 0; round < 2; round++) {
            try (Count counted = Hprof.count()) {
                noTrace(300_000);
                expect(things(counted, "Counted$Thing"), 300_000, "things of compiled code");
            }
            try (Count counted = Hprof.count()) {
                boxes(300_000);
                expect(things(counted, "java.lang.Integer"), 300_000, "boxes of compiled code");
            }
        }
    }

    static long things(Count counted, String className) {
        return counted.sites().stream().filter(site -> site.className().equals(className)).mapToLong(Site::objects).sum();
    }

    static void nested() {
        try (Count outer = Hprof.count()) {
            makeThings(1);
            Count inner = Hprof.count();
            makeThings(2);
            // What the inner count's answer takes is the outer's.
            long two = inner.objects();
            expect(two, 2, "inside");
            expect(things(outer, "Counted$Thing"), 3, "around");
        }
    }

    static void threads() throws Exception {
        for (boolean all : new boolean[] {false, true}) {
            Thread other = new Thread(() -> makeThings(100));
            try (Count counted = all ? Hprof.countAllThreads() : Hprof.count()) {
                makeThings(7);
                other.start();
                other.join();
                expect(things(counted, "Counted$Thing"), all ? 107 : 7, all ? "of all" : "of this");
            }
        }
    }

    static void live() {
        Object[] held = new Object[50];
        try (Count counted = Hprof.count()) {
            for (int i = 0; i < 100; i++) {
                Object thing = new Thing();
                if (i % 2 == 0) {
                    held[i / 2] = thing;
                }
            }
            expect(counted.live().stream().mapToLong(Site::objects).sum(), 50, "alive");
            java.util.Arrays.fill(held, 0, 20, null);
            expect(counted.live().stream().filter(site -> site.className().equals("Counted$Thing"))
                    .mapToLong(Site::objects).sum(), 30, "alive");
        }
        check("held", held[49] != null);
    }

    static void refusals() throws Exception {
        Count mine = Hprof.count();
        String[] said = new String[1];
        Thread other = new Thread(() -> {
            try {
                mine.objects();
            } catch (IllegalStateException refused) {
                said[0] = refused.getMessage();
            }
        });
        other.start();
        other.join();
        check(said[0], said[0] != null && said[0].contains("began on another thread"));
        mine.close();
        Count[] many = new Count[64];
        for (int i = 0; i < many.length; i++) {
            many[i] = Hprof.count();
        }
        try {
            Hprof.count();
            check("too many", false);
        } catch (IllegalStateException refused) {
            check(refused.getMessage(), refused.getMessage().contains("too many counts"));
        }
        for (Count one : many) {
            one.close();
        }
    }

    /** The number comes first: what the text takes must not be counted. */
    static void expect(long found, long expected, String what) {
        check(what + ": " + found + ", not " + expected, expected == found);
    }

    static void check(String what, boolean right) {
        if (!right) {
            throw new AssertionError(what);
        }
    }
}
