/**
 * Known answer: all CPU goes to two lines of one method, `Lines.work`, some 2 : 1 to lines 14 and 15. With `lineno=y`
 * these are two rows, with `lineno=n` one. Prints `worked` after 1,500 ms, or later if it has got little CPU by then.
 *
 * A change above the two loops must keep the numbers here and in the tests right.
 */
public class Lines {
    static volatile double first;
    static volatile double second;

    static void work(int n) {
        double x = 1;
        double y = 1;
        for (int i = 0; i < 2 * n; i++) x = x * 1.0000001 + 0.5;
        for (int i = 0; i < n; i++) y = y * 1.0000001 + 0.5;
        first = x;
        second = y;
    }

    public static void main(String[] args) {
        long end = System.nanoTime() + 1_500_000_000L;
        for (int round = 0; round < 60 || System.nanoTime() < end; round++) work(1_000_000);
        System.out.println("worked");
    }
}
