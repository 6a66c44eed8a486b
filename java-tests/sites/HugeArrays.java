/**
 * Known answer: one live `byte[100 MB]` made in `bytes`, one live `long[10,000,000]` in `longs`, one live
 * `int[3][5][1,000,000]` in `cube` (1 `int[][][]`, 3 `int[][]`, 15 `int[]`), and 20 dead `Object[1,000,000]` made in
 * `dropped`. With the argument `many` also 600 dead `long[1,000,000]` made in `many`: 4,800,009,600 bytes (arrays
 * have 16 bytes before their elements), more than 32 bits can count. Prints `made`.
 */
public class HugeArrays {
    static Object bytes;
    static Object longs;
    static Object cube;
    static volatile Object sink;

    static void bytes() { bytes = new byte[100 << 20]; }
    static void longs() { longs = new long[10_000_000]; }
    static void cube() { cube = new int[3][5][1_000_000]; }
    static void dropped() { for (int i = 0; i < 20; i++) sink = new Object[1_000_000]; }
    static void many() { for (int i = 0; i < 600; i++) sink = new long[1_000_000]; }

    public static void main(String[] args) {
        bytes();
        longs();
        cube();
        dropped();
        if (args.length > 0) many();
        sink = null;
        System.out.println("made");
    }
}
