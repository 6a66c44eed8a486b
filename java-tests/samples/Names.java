/**
 * Known answer: one thread after the other burns 200 ms in the method `gr\u00fc\u00dfe`, and their names, in this
 * order, are those in NAMES: quotes, a backslash, a line break, a tab, letters outside ASCII, and a character outside
 * the basic plane (U+1F600), which the JVM stores as two surrogates. Prints `threads 6`. The source is ASCII alone, so
 * that no compiler setting matters.
 */
public class Names {
    static final String[] NAMES = {
        "say \"hi\"",
        "back\\slash",
        "two\nlines",
        "a\ttab",
        "gr\u00fc\u00df dich \u65e5\u672c",
        "smile \ud83d\ude00 end",
    };
    static volatile double sink;

    static void gr\u00fc\u00dfe(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) {
            double x = 1;
            for (int i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }
    }

    public static void main(String[] args) throws Exception {
        for (String name : NAMES) {
            Thread thread = new Thread(() -> gr\u00fc\u00dfe(200), name);
            thread.start();
            thread.join();
        }
        System.out.println("threads " + NAMES.length);
    }
}
