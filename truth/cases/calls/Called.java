/** Methods that are called a known number of times: recursion, exceptions, constructors, initializers, interfaces, lambdas, threads. */
public class Called {
    interface Shape { int area(); default int twice() { return 2 * area(); } }
    static class Square implements Shape {
        final int side;
        Square(int side) { this.side = side; }
        public int area() { return side * side; }
    }
    static class Late {
        static int loaded;
        static { loaded = first(); }
        static int first() { return 1; }
    }

    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static int thrower(int n) { if (n == 0) throw new IllegalStateException("known"); return thrower(n - 1); }
    static void catcher() { try { thrower(10); } catch (IllegalStateException e) { Truth.sink = 1; } }
    static synchronized void locked() { Truth.sink = 2; }
    static void middle() { for (int i = 0; i < 3; i++) leaf(i); }
    static void leaf(int i) { Truth.sink = i; }
    static void threaded() { Truth.sink = 3; }
    static void body(int i) { Truth.sink = i; }
    static void finallyLeft(int i) { try { if (i % 2 == 0) return; leaf(i); } finally { body(i); } }

    public static void main(String[] args) throws Exception {
        fib(20);
        for (int i = 0; i < 20; i++) catcher();
        for (int i = 0; i < 50; i++) locked();
        for (int i = 0; i < 100; i++) middle();
        int areas = 0;
        for (int i = 0; i < 70; i++) areas += new Square(i).twice();
        for (int i = 0; i < 5; i++) areas += Late.loaded;
        Truth.sink = areas;
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> { for (int j = 0; j < 25_000; j++) threaded(); });
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        for (int i = 0; i < 30; i++) finallyLeft(i);
        Truth.ready();
        Truth.say("calls", "Called.fib", "-", 21_891);
        Truth.say("calls", "Called.thrower", "-", 220);
        Truth.say("calls", "Called.catcher", "-", 20);
        Truth.say("calls", "Called.locked", "-", 50);
        Truth.say("calls", "Called.middle", "-", 100);
        Truth.say("calls", "Called.leaf", "-", 315);
        Truth.say("calls", "Called$Square.<init>", "-", 70);
        Truth.say("calls", "Called$Square.area", "-", 70);
        Truth.say("calls", "Called$Shape.twice", "-", 70);
        Truth.say("calls", "Called$Late.<clinit>", "-", 1);
        Truth.say("calls", "Called$Late.first", "-", 1);
        Truth.say("calls", "Called.threaded", "-", 100_000);
        Truth.say("calls", "Called.finallyLeft", "-", 30);
        Truth.say("calls", "Called.body", "-", 30);
        Truth.say("calls", "Called.main", "-", 1);
    }
}
