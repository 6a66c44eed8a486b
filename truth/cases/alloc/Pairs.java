/**
 * Three pairs of methods that allocate the same number of bytes: of different sizes, in different numbers, and in turns.
 * Each must get half of its pair (async-profiler #873 and #874).
 */
public class Pairs {
    static byte[] smallSize() { return new byte[1_008]; }
    static byte[] largeSize() { return new byte[65_520]; }
    static Object often() { return new long[6]; }
    static Object seldom() { return new long[254]; }
    static Object left() { return new int[124]; }
    static Object right() { return new int[124]; }

    public static void main(String[] args) {
        Truth.load();
        for (int round = 0; round < 1_000; round++) {
            for (int i = 0; i < 64; i++) Truth.kept = smallSize();
            Truth.kept = largeSize();
        }
        for (int round = 0; round < 10_000; round++) {
            for (int i = 0; i < 32; i++) Truth.kept = often();
            Truth.kept = seldom();
        }
        for (int round = 0; round < 50_000; round++) {
            Truth.kept = left();
            Truth.kept = right();
        }
        Truth.ready();
        Known.say();
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.allocated("Pairs.smallSize", "byte[]", 64_000, Truth.array(1_008));
            Truth.allocated("Pairs.largeSize", "byte[]", 1_000, Truth.array(65_520));
            Truth.allocated("Pairs.often", "long[]", 320_000, Truth.array(48));
            Truth.allocated("Pairs.seldom", "long[]", 10_000, Truth.array(2_032));
            Truth.allocated("Pairs.left", "int[]", 50_000, Truth.array(496));
            Truth.allocated("Pairs.right", "int[]", 50_000, Truth.array(496));
        }
    }
}
