// vm: -Xint
/** Loops of equal length, 5, 3 and 2 a round, in the interpreter. No clock is read. */
public class Interpreted {
    static void five() { loop5(5); }
    static void three() { loop3(3); }
    static void two() { loop2(2); }

    static void loop5(int times) { double x = 1; for (int i = 0; i < times * 4_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void loop3(int times) { double x = 1; for (int i = 0; i < times * 4_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void loop2(int times) { double x = 1; for (int i = 0; i < times * 4_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    public static void main(String[] args) {
        for (int round = 0; round < Truth.scaled(3_500); round++) {
            five();
            three();
            two();
        }
        Truth.say("cpu", "Interpreted.loop5", "-", 5);
        Truth.say("cpu", "Interpreted.loop3", "-", 3);
        Truth.say("cpu", "Interpreted.loop2", "-", 2);
    }
}
