/** Two phases: first only `early`, then only `late`, 2 : 3. No clock is read. */
public class Phases {
    static void early() { double x = 1; for (int i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void late() { double x = 1; for (int i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    public static void main(String[] args) {
        for (int i = 0; i < 2 * Truth.scaled(1_700); i++) early();
        for (int i = 0; i < 3 * Truth.scaled(1_700); i++) late();
        Truth.say("cpu", "Phases.early", "-", 2);
        Truth.say("cpu", "Phases.late", "-", 3);
    }
}
