/**
 * Known answer: all CPU goes to `Deep.leaf`, called from 40 frames of `Deep.down`, called from `Deep.main`: a stack of
 * 42 frames. `depth=N` shows the N innermost of them: `leaf`, then `down` N - 1 times. Prints `depth 42` after 1 s, or
 * later if it has got little CPU by then.
 */
public class Deep {
    static volatile double sink;

    static void leaf() {
        double x = 1;
        for (int i = 0; i < 2_000_000; i++) x = x * 1.0000001 + 0.5;
        sink = x;
    }

    static void down(int left, long end) {
        if (left > 1) {
            down(left - 1, end);
        } else {
            for (int round = 0; round < 100 || System.nanoTime() < end; round++) leaf();
        }
    }

    public static void main(String[] args) {
        down(40, System.nanoTime() + 1_000_000_000L);
        System.out.println("depth 42");
    }
}
