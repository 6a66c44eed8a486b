import java.util.Arrays;

/** Where is CPU time spent? Two methods, one of which has the JDK do its work; with the argument `after` the first does half. */
// asks: cpu mine diff live recv
public final class Busy {
    private static volatile long sink;

    static void spin(long nanos) {
        long begin = Truth.now();
        long x = 1;
        while (Truth.now() - begin < nanos) for (int i = 0; i < 50_000; i++) x = x * 31 + i;
        sink = x;
    }

    static void sort(long nanos) {
        long begin = Truth.now();
        int[] numbers = new int[20_000];
        while (Truth.now() - begin < nanos) {
            for (int i = 0; i < numbers.length; i++) numbers[i] = i * 1_103_515_245 + 12_345;
            Arrays.sort(numbers);
        }
        sink = numbers[7];
    }

    /** The two in turns: with many rounds each part of the time has the same shares. */
    private static void work(int rounds, int spinning, int sorting) {
        long[] used = new long[2];
        for (int i = 0; i < rounds; i++) {
            long begin = Truth.now();
            spin(spinning * 1_000_000L);
            long between = Truth.now();
            sort(sorting * 1_000_000L);
            used[0] += between - begin;
            used[1] += Truth.now() - between;
        }
        say("Busy.spin", used[0]);
        say("Busy.sort", used[1]);
    }

    private static void say(String where, long nanos) {
        Truth.say("cpu_ns", where, "-", nanos);
        Truth.say("cpu", where, "-", nanos);
    }

    public static void main(String[] args) {
        Truth.now();
        boolean stays = args.length > 0 && args[0].equals("stays");
        boolean after = args.length > 0 && args[0].equals("after");
        if (stays) Truth.ready();
        if (stays) work(60, 60, 20);
        else work(1, after ? 450 : 900, 300);
    }
}
