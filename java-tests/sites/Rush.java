/**
 * Allocates faster than any profile could count within a small budget. Known answer: `Rush$Slow` is made 20,000 times,
 * before anything else, and all of it is alive; then, dead, 60,000,000 `Rush$Quick` with a long (24 bytes), of which
 * every 10th stays alive; then, dead, 20,000,000 `byte[100]` made in `arrays`. With the argument `slow`, the last two are
 * left out. Prints `made`.
 */
public class Rush {
    static class Slow { }
    static class Quick { long a; }

    static final Object[] SLOW = new Object[20_000];
    static final Object[] KEPT = new Object[6_000_000];

    /** Volatile: objects that are stored here are allocated, whatever the compiler thinks of them. */
    static volatile Object sink;

    static void slow() throws InterruptedException {
        for (int i = 0; i < SLOW.length; i++) {
            SLOW[i] = new Slow();
            if (i % 100 == 0) Thread.sleep(1);
        }
    }

    static void quick() {
        for (int i = 0; i < 60_000_000; i++) {
            Quick next = new Quick();
            if (i % 10 == 0) KEPT[i / 10] = next;
            else sink = next;
        }
    }

    static void arrays() { for (int i = 0; i < 20_000_000; i++) sink = new byte[100]; }

    public static void main(String[] args) throws InterruptedException {
        slow();
        if (args.length == 0) {
            quick();
            arrays();
        }
        sink = null;
        System.out.println("made");
    }
}
