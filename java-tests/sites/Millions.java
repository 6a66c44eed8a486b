/**
 * Allocates so much that a sample of it tells the truth. Known answer, dead: 10,000,000 `Millions$Small` of 16 bytes,
 * 3,000,000 `Millions$Pair` with two longs and a reference, 1,000,000 `byte[]` of 0 to 999 elements made in `mixed`
 * (each length as often as any other), 200 `byte[4 MB]` made in `large`; live: 1,500,000 `Millions$Kept`, which are
 * as large as a pair. The first argument multiplies the numbers of `$Small`, `$Pair` and the mixed arrays. Prints
 * `made`.
 */
public class Millions {
    static class Small { }
    static class Pair { long a; long b; Object c; }
    static class Kept { long a; long b; Object c; }

    static Kept kept;

    /** Volatile: objects that are stored here are allocated, whatever the compiler thinks of them. */
    static volatile Object sink;

    static void small(int n) { for (int i = 0; i < n; i++) sink = new Small(); }
    static void pairs(int n) { for (int i = 0; i < n; i++) sink = new Pair(); }
    static void mixed(int n) { for (int i = 0; i < n; i++) sink = new byte[i % 1_000]; }
    static void large() { for (int i = 0; i < 200; i++) sink = new byte[4 << 20]; }

    static void kept(int n) {
        for (int i = 0; i < n; i++) {
            Kept next = new Kept();
            next.c = kept;
            kept = next;
        }
    }

    public static void main(String[] args) {
        int factor = args.length > 0 ? Integer.parseInt(args[0]) : 1;
        small(10_000_000 * factor);
        pairs(3_000_000 * factor);
        mixed(1_000_000 * factor);
        large();
        kept(1_500_000);
        sink = null;
        System.out.println("made");
    }
}
