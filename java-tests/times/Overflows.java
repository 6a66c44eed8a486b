/**
 * Overflows the stack in the method that goes on by itself. Known answer: `after` 1000 times, always from `main`; prints
 * `caught 5`.
 */
public class Overflows {
    static int sink;

    static int down(int a) { return down(a + 1) + 1; }
    static void after() { sink++; }

    public static void main(String[] args) {
        int caught = 0;
        for (int i = 0; i < 5; i++) {
            try { sink += down(0); } catch (StackOverflowError e) { caught++; }
            for (int k = 0; k < 200; k++) after();
        }
        System.out.println("caught " + caught);
    }
}
