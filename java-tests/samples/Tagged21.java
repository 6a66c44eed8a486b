import java.util.ArrayList;
import java.util.List;

/**
 * Known answer: of two virtual threads, `heavy` runs three times as many rounds of the same loop as `light`; both yield after
 * each round, so carriers run them in turns. With thread=y the samples of `Tagged21.round` stand 3 : 1 to each other by thread.
 * Prints `done`. Needs Java 21.
 */
public class Tagged21 {
    static volatile double sink;

    static void round() {
        double x = 1;
        for (int i = 0; i < 2_000_000; i++) x = x * 1.0000001 + 0.5;
        sink = x;
    }

    static void rounds(int count) {
        for (int i = 0; i < count; i++) {
            round();
            Thread.yield();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        threads.add(Thread.ofVirtual().name("heavy").start(() -> rounds(450)));
        threads.add(Thread.ofVirtual().name("light").start(() -> rounds(150)));
        for (Thread thread : threads) thread.join();
        System.out.println("done");
    }
}
