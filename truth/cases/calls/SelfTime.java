/** Self time by construction: `outer` does 3 units of work itself, `inner`, which it calls, 6, and `other` 1. */
public class SelfTime {
    static void outer() {
        double x = 1;
        for (int i = 0; i < 600_000; i++) x = x * 1.0000001 + 0.5;
        inner();
        Truth.sink = x;
    }

    static void inner() { double x = 1; for (int i = 0; i < 1_200_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void other() { double x = 1; for (int i = 0; i < 200_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    public static void main(String[] args) {
        for (int round = 0; round < Truth.scaled(1_200); round++) {
            outer();
            other();
        }
        Truth.ready();
        Truth.say("self", "SelfTime.outer", "-", 3);
        Truth.say("self", "SelfTime.inner", "-", 6);
        Truth.say("self", "SelfTime.other", "-", 1);
    }
}
