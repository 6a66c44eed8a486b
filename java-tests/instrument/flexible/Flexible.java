/**
 * A constructor with code before its `super(...)`, handlers included: entered 10 times, it returns 6 times and is left
 * by an exception of that code twice; the other 2 fail in `super(...)`.
 */
public class Flexible implements Runnable {
    static long sink;

    static class Base {
        Base(int n) {
            if (n < 0) {
                throw new IllegalArgumentException();
            }
        }
    }

    static class Child extends Base {
        final int field;

        Child(int n) {
            if (n == 0) {
                throw new IllegalStateException();
            }
            int value;
            try {
                value = Integer.parseInt(n == 2 ? "x" : "" + n);
            } catch (NumberFormatException e) {
                value = 7;
            }
            field = value;
            super(value);
            sink += value;
        }
    }

    public void run() {
        int[] numbers = {0, 0, 1, 1, 1, 2, 2, 2, -1, -1};
        for (int n : numbers) {
            try {
                new Child(n);
            } catch (RuntimeException e) {
                sink--;
            }
        }
    }
}
