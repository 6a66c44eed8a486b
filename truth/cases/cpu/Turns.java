/**
 * Three methods in turns, one call each, with the same counted loop in lengths of 7 : 2 : 1, and no clock is read: what is
 * charged to the next safepoint is charged to the next method.
 */
public class Turns {
    static void seven(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void two(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void one(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    public static void main(String[] args) {
        for (int round = 0; round < Truth.scaled(2_300); round++) {
            int n = Truth.uneven(200_000, round);
            seven(7 * n);
            two(2 * n);
            one(n);
        }
        Truth.say("cpu", "Turns.seven", "-", 7);
        Truth.say("cpu", "Turns.two", "-", 2);
        Truth.say("cpu", "Turns.one", "-", 1);
    }
}
