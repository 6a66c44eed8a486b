/** How often is a method called, and how long does it take? */
// asks: calls
public final class Twigs {
    private static volatile long sink;

    static long leaf(long x) {
        for (int i = 0; i < 50_000; i++) x = x * 31 + i;
        return x;
    }

    static long twig(long x) {
        for (int i = 0; i < 200_000; i++) x = x * 31 + i;
        return x;
    }

    static void often() {
        for (int i = 0; i < 9_000; i++) sink = leaf(i);
    }

    static void seldom() {
        for (int i = 0; i < 1_000; i++) sink = leaf(i);
        for (int i = 0; i < 2_000; i++) sink = twig(i);
    }

    public static void main(String[] args) {
        seldom();
        often();
        Truth.say("calls", "Twigs.leaf", "-", 10_000);
        Truth.say("calls", "Twigs.twig", "-", 2_000);
    }
}
