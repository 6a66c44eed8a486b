import java.util.concurrent.atomic.AtomicLong;

/**
 * One, three and six atomic additions, which take equally long each, in methods that the compiler inlines into a loop of their own.
 * There is no safepoint where the time goes, and no clock is read.
 */
public class Inlined {
    static final AtomicLong SUM = new AtomicLong();

    static void one() { SUM.addAndGet(1); }

    static void three() {
        SUM.addAndGet(2);
        SUM.addAndGet(3);
        SUM.addAndGet(4);
    }

    static void six() {
        SUM.addAndGet(5);
        SUM.addAndGet(6);
        SUM.addAndGet(7);
        SUM.addAndGet(8);
        SUM.addAndGet(9);
        SUM.addAndGet(10);
    }

    static void first(int n) { for (int i = 0; i < n; i++) one(); }
    static void second(int n) { for (int i = 0; i < n; i++) three(); }
    static void third(int n) { for (int i = 0; i < n; i++) six(); }

    public static void main(String[] args) {
        for (int round = 0; round < Truth.scaled(2_000); round++) {
            first(60_000);
            second(60_000);
            third(60_000);
        }
        Truth.say("cpu", "Inlined.one", "-", 1);
        Truth.say("cpu", "Inlined.three", "-", 3);
        Truth.say("cpu", "Inlined.six", "-", 6);
        Truth.say("cpu", "Inlined.first", "-", 0);
        Truth.say("cpu", "Inlined.second", "-", 0);
        Truth.say("cpu", "Inlined.third", "-", 0);
    }
}
