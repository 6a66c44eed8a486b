/** No clock is read: four methods have the same loop and run 40, 30, 20 and 10 times a round. */
public class Counts {
    static final int N = 400_000;

    static void a() { double x = 1; for (int i = 0; i < N; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void b() { double x = 1; for (int i = 0; i < N; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void c() { double x = 1; for (int i = 0; i < N; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void d() { double x = 1; for (int i = 0; i < N; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    public static void main(String[] args) {
        for (int round = 0; round < Truth.scaled(120); round++) {
            for (int i = 0; i < 40; i++) a();
            for (int i = 0; i < 30; i++) b();
            for (int i = 0; i < 20; i++) c();
            for (int i = 0; i < 10; i++) d();
        }
        Truth.say("cpu", "Counts.a", "-", 40);
        Truth.say("cpu", "Counts.b", "-", 30);
        Truth.say("cpu", "Counts.c", "-", 20);
        Truth.say("cpu", "Counts.d", "-", 10);
    }
}
