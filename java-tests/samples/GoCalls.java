import java.io.File;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Four threads call a library in Go for as many milliseconds as the last argument says, once the file `go1` is there. The first
 * argument is the library, the second says whether it is loaded `before` that file is waited for, or `after`. Each call computes 500500 in
 * goroutines, with collections of Go's own, waits in Go, and calls back into Java. The answer is `all are right`.
 */
public class GoCalls {
    private static final int THREADS = 4;
    private static final int ANSWER = 500500;
    private static final AtomicInteger wrong = new AtomicInteger();
    static volatile double sink;

    static native int call(int rounds);

    /** Called from Go. */
    static int twice(int number) {
        double sum = 0;
        for (int i = 0; i < 20_000; i++) sum += Math.sqrt(i + number);
        sink = sum;
        return 2 * number;
    }

    public static void main(String[] arguments) throws Exception {
        boolean before = arguments[1].equals("before");
        if (before) {
            load(arguments[0]);
        }
        System.out.println("ready");
        while (!new File("go1").exists()) {
            Thread.sleep(10);
        }
        if (!before) {
            load(arguments[0]);
        }
        long end = System.nanoTime() + Long.parseLong(arguments[2]) * 1_000_000;
        Thread[] threads = new Thread[THREADS];
        for (int i = 0; i < THREADS; i++) {
            threads[i] = new Thread(() -> callUntil(end), "calls Go");
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println(wrong.get() == 0 ? "all are right" : wrong.get() + " are wrong");
        while (!new File("end").exists()) {
            Thread.sleep(10);
        }
    }

    private static void load(String library) {
        System.load(library);
        check();
    }

    private static void callUntil(long end) {
        do {
            check();
        } while (System.nanoTime() < end);
    }

    private static void check() {
        if (call(1000) != ANSWER) {
            wrong.incrementAndGet();
        }
    }
}
