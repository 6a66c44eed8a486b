/**
 * Calls one method far more often than others. Known answer: `often` is called 200,000,000 times in 100 rounds, `rarely`
 * 1,000 times, ten in each round, and `round` 100 times. With the argument `few`, `often` is called 1,000 times, ten in each
 * round. Prints the sum of all calls.
 */
public class Often {
    static volatile long calls;
    static long sum;

    static void often() { sum++; }
    static void rarely() { calls++; }

    static void round(int count) {
        for (int i = 0; i < count; i++) often();
        for (int i = 0; i < 10; i++) rarely();
    }

    public static void main(String[] args) throws InterruptedException {
        int count = args.length == 0 ? 2_000_000 : 10;
        for (int i = 0; i < 100; i++) round(count);
        System.out.println(sum + calls);
    }
}
