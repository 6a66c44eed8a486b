// vm: -Xint
/** Loops of equal length, 5, 3 and 2 a round, in the interpreter. No clock is read. */
public class Interpreted {
    static void five(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void three(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void two(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    public static void main(String[] args) {
        for (int round = 0; round < Truth.scaled(14_000); round++) {
            int n = Truth.uneven(4_000, round);
            five(5 * n);
            three(3 * n);
            two(2 * n);
        }
        Truth.say("cpu", "Interpreted.five", "-", 5);
        Truth.say("cpu", "Interpreted.three", "-", 3);
        Truth.say("cpu", "Interpreted.two", "-", 2);
    }
}
