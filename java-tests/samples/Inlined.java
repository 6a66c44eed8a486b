import java.util.concurrent.atomic.AtomicLong;

/**
 * Known answer, and no clock is read: `one` and `three` do 1 and 3 atomic additions, which take equally long, as often as each
 * other. Each is inlined into a loop, which does next to nothing. The argument is how often the loops run.
 */
public class Inlined {
    static final AtomicLong SUM = new AtomicLong();

    static void one() {
        SUM.addAndGet(1);
    }

    static void three() {
        SUM.addAndGet(2);
        SUM.addAndGet(3);
        SUM.addAndGet(4);
    }

    static void few(int n) {
        for (int i = 0; i < n; i++) one();
    }

    static void many(int n) {
        for (int i = 0; i < n; i++) three();
    }

    public static void main(String[] args) {
        int rounds = args.length == 0 ? 3_000 : Integer.parseInt(args[0]);
        for (int round = 0; round < rounds; round++) {
            few(200_000);
            many(200_000);
        }
        System.out.println("truth Inlined.one 1");
        System.out.println("truth Inlined.three 3");
        System.out.println("truth Inlined.few 0");
        System.out.println("truth Inlined.many 0");
    }
}
