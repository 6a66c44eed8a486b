import java.lang.instrument.ClassFileTransformer;
import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;

/**
 * Makes a known number of calls while its classes are redefined, and prints how often each method was called: `truth EveryCall.add 1000`.
 * Methods are left by returns and exceptions, at the end of the stack and in virtual threads. `survive` overflows the stack,
 * and how often `down` is called is not known.
 *
 * <p>Arguments: the number of calls, and `virtual` for virtual threads. With the argument `wait` nothing is done before a line is
 * read, and the program ends with the next one; with `twice` it says `begun`, and does the same once before, which is not counted. It is
 * its own Java agent.
 */
public class EveryCall {
    static final int THREADS = 4;
    /** Calls of four methods each time, and of others now and then. */
    static final int ROUND = 1 << 10;
    static final IllegalStateException THROWN = new IllegalStateException("thrown");
    static Instrumentation instrumentation;
    static volatile boolean over;
    static volatile long sink;

    public static void premain(String options, Instrumentation vm) {
        instrumentation = vm;
        vm.addTransformer(new ClassFileTransformer() {
            @Override public byte[] transform(
                    ClassLoader loader, String name, Class<?> before, ProtectionDomain domain, byte[] bytes) {
                return before == null ? null : bytes;
            }
        }, true);
    }

    interface Shape { int area(); }

    static class Square implements Shape {
        final int side;
        Square(int side) { this.side = side; }
        int get() { return side; }
        @Override public int area() { return get() * get(); }
    }

    static class Circle implements Shape {
        final int radius;
        Circle(int radius) { this.radius = radius; }
        int get() { return radius; }
        @Override public int area() { return 3 * get() * get(); }
    }

    static int add(int a, int b) { return a + b; }

    static int thrower(int i) {
        if ((i & 64) == 0) throw THROWN;
        return i;
    }

    static int caught(int i) {
        try {
            return thrower(i);
        } catch (IllegalStateException e) {
            return 1;
        }
    }

    static synchronized int locked(int i) { return i; }

    static int down(int n) { return down(n + 1) + 1; }

    static int survive() {
        try {
            return down(0);
        } catch (StackOverflowError e) {
            return after();
        }
    }

    static int after() { return 1; }

    static int round(Shape[] shapes) {
        int sum = 0;
        for (int i = 0; i < ROUND; i++) {
            sum = add(sum, shapes[i & 1].area());
            if ((i & 63) == 0) sum += caught(i) + locked(i);
        }
        return sum;
    }

    static void work(long rounds) {
        Shape[] shapes = {new Square(3), new Circle(5)};
        for (long i = 0; i < rounds; i++) {
            sink += round(shapes);
            if ((i & 63) == 0) Thread.yield();
            if ((i & 0xFFFF) == 0) sink += survive();
        }
    }

    static void redefine() {
        try {
            while (!over) {
                List<Class<?>> classes = new ArrayList<>();
                for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
                    if (loaded.getName().startsWith("EveryCall") && instrumentation.isModifiableClass(loaded)) classes.add(loaded);
                }
                instrumentation.retransformClasses(classes.toArray(new Class<?>[0]));
                Thread.sleep(50);
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    static Thread worker(boolean virtual, long rounds) throws Exception {
        Runnable work = () -> work(rounds);
        if (!virtual) {
            Thread thread = new Thread(work);
            thread.start();
            return thread;
        }
        return (Thread) Thread.class.getMethod("startVirtualThread", Runnable.class).invoke(null, work);
    }

    static void all(boolean virtual, long rounds) throws Exception {
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) threads[i] = worker(virtual, rounds);
        for (Thread thread : threads) thread.join();
    }

    static void until(String state) throws Exception {
        System.out.println(state);
        while (System.in.read() != '\n') {}
    }

    public static void main(String[] args) throws Exception {
        List<String> words = List.of(args);
        boolean waits = words.contains("wait");
        // Each turn of a round's loop has four calls.
        long rounds = Math.max(1, Long.parseLong(args[0]) / 4 / ROUND / THREADS);
        Thread redefiner = new Thread(EveryCall::redefine);
        if (instrumentation != null) redefiner.start();
        if (words.contains("twice")) {
            System.out.println("begun");
            all(words.contains("virtual"), rounds);
        }
        if (waits) until("ready");
        all(words.contains("virtual"), rounds);
        if (waits) until("done");
        over = true;
        redefiner.join();
        long turns = rounds * THREADS * ROUND;
        long overflows = THREADS * ((rounds + 0xFFFF) >> 16);
        say("add", turns);
        say("caught", turns / 64);
        say("thrower", turns / 64);
        say("locked", turns / 64);
        say("round", rounds * THREADS);
        say("survive", overflows);
        say("after", overflows);
        say("work", THREADS);
        for (String shape : new String[] {"Square", "Circle"}) {
            System.out.println("truth EveryCall$" + shape + ".area " + turns / 2);
            System.out.println("truth EveryCall$" + shape + ".get " + turns);
        }
    }

    static void say(String method, long calls) { System.out.println("truth EveryCall." + method + " " + calls); }
}
