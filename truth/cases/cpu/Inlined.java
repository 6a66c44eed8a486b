import java.util.concurrent.atomic.AtomicLong;

/**
 * One, three and six atomic additions, which take equally long each, in methods that the compiler inlines into one loop. There is
 * no safepoint where the time goes, and no clock is read.
 */
public class Inlined {
    static final AtomicLong SUM = new AtomicLong();

    static void one() { SUM.getAndIncrement(); }

    static void three() {
        SUM.getAndIncrement();
        SUM.getAndIncrement();
        SUM.getAndIncrement();
    }

    static void six() {
        SUM.getAndIncrement();
        SUM.getAndIncrement();
        SUM.getAndIncrement();
        SUM.getAndIncrement();
        SUM.getAndIncrement();
        SUM.getAndIncrement();
    }

    static void loop(int n) {
        for (int i = 0; i < n; i++) {
            one();
            three();
            six();
        }
    }

    public static void main(String[] args) {
        for (int round = 0; round < Truth.scaled(2_000); round++) loop(60_000);
        Truth.say("cpu", "Inlined.one", "-", 1);
        Truth.say("cpu", "Inlined.three", "-", 3);
        Truth.say("cpu", "Inlined.six", "-", 6);
        Truth.say("cpu", "Inlined.loop", "-", 0);
    }
}
