// variant after: -Dslowed=2
/**
 * A change that slows one method down. As it is, `parse`, `check` and `write` do 5, 3 and 2 units of work a round; as the variant
 * `after`, `check` does 6. The difference of two profiles must be that change. No clock is read.
 */
public class Slowed {
    static final int TIMES = Integer.getInteger("slowed", 1);

    static void parse(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void check(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void write(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    public static void main(String[] args) {
        for (int round = 0; round < Truth.scaled(4_000); round++) {
            int n = Truth.uneven(100_000, round);
            parse(5 * n);
            check(3 * TIMES * n);
            write(2 * n);
        }
        Truth.say("cpu", "Slowed.parse", "-", 5);
        Truth.say("cpu", "Slowed.check", "-", 3 * TIMES);
        Truth.say("cpu", "Slowed.write", "-", 2);
    }
}
