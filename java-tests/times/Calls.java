/**
 * Calls methods a known number of times. Known answer: fib 1973, leaf 300, spin 300, middle 100, thrower 220 (all left by
 * exception), locked 50, main 1.
 */
public class Calls {
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static void leaf() { spin(2000); }
    static void middle() { for (int i = 0; i < 3; i++) leaf(); }
    static int thrower(int n) { if (n == 0) throw new IllegalStateException("x"); return thrower(n - 1); }
    static long sink;
    static void spin(int n) { for (int i = 0; i < n; i++) sink += i * 31; }
    static synchronized void locked() { sink++; }

    public static void main(String[] args) {
        for (int i = 0; i < 100; i++) middle();
        fib(15);
        for (int i = 0; i < 20; i++) try { thrower(10); } catch (IllegalStateException e) { sink--; }
        for (int i = 0; i < 50; i++) locked();
        System.out.println("sink " + sink);
    }
}
