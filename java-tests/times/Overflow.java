/**
 * Overflows the stack ten times and goes on. Known answer: `survive` 10 times; `after` 1000 times, from `rest` (10 times) and
 * `main`; prints `caught 10`.
 */
public class Overflow {
    static int depth;
    static int sink;

    static int down(int a, long b) { depth++; return down(a + 1, b * 3) + 1; }
    static int survive() {
        try {
            return down(0, 1);
        } catch (StackOverflowError e) {
            return -1;
        }
    }
    static void after() { sink++; }
    static void rest() { for (int i = 0; i < 100; i++) after(); }

    public static void main(String[] args) {
        int caught = 0;
        for (int i = 0; i < 10; i++) {
            depth = 0;
            if (survive() == -1 && depth > 500) caught++;
            rest();
        }
        System.out.println("caught " + caught);
    }
}
