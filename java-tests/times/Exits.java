import java.util.function.IntSupplier;

/**
 * Leaves methods in every way there is. After each, `main` calls a method that must be seen as called by `main`.
 *
 * Known answer, calls by trace (callee, caller, its caller, depth=3): `a1` through `a3` 7 each, left by exception;
 * `Fails.<init>` 5 times from `construct`, whose `super(...)` throws; `Base.<init>` 5 times from `Fails.<init>`; `deep` 10001 times;
 * `locked` 3 times, left by exception; `lambda$main$0` 9 times; `Lazy.<clinit>` once; `pick` 40 times; `after` 6 times, each
 * time from `main` and nobody else.
 */
public class Exits {
    static int sink;

    static void after() { sink++; }

    static void a1() { a2(); }
    static void a2() { a3(); }
    static void a3() { throw new IllegalStateException("three frames"); }

    static class Base { Base(int n) { if (n >= 0) throw new IllegalArgumentException("no"); } }
    static class Fails extends Base { Fails(int n) { super(n); sink++; } }

    static void construct(int n) { try { new Fails(n); } catch (IllegalArgumentException e) { sink++; } }

    static int deep(int n) { return n == 0 ? 0 : 1 + deep(n - 1); }

    static synchronized void locked() { throw new IllegalStateException("locked"); }

    static class Lazy { static int value; static { value = 42; } }

    static int pick(int n) {
        switch (n % 20) {
            case 0: return 7;
            case 1: case 2: sink += 2;
            case 3: sink += 3; break;
            case 5: return sink;
            case 8: sink++; break;
            case 13: return -1;
            default: sink--;
        }
        switch (n * 1000) {
            case 1000: return 1;
            case 100000: return 2;
            case -5: return 3;
            default: return 4;
        }
    }

    public static void main(String[] args) {
        for (int i = 0; i < 7; i++) try { a1(); } catch (IllegalStateException e) { sink++; }
        after();
        for (int i = 0; i < 5; i++) construct(i);
        after();
        sink += deep(10_000);
        after();
        for (int i = 0; i < 3; i++) try { locked(); } catch (IllegalStateException e) { sink++; }
        after();
        IntSupplier lambda = () -> sink + 1;
        for (int i = 0; i < 9; i++) sink = lambda.getAsInt();
        after();
        sink += Lazy.value;
        for (int i = 0; i < 40; i++) sink += pick(i);
        after();
        System.out.println("sink " + sink);
    }
}
