import java.util.ArrayList;
import java.util.List;

/** Virtual threads, 30 of `heavy` and 10 of `light` loops of equal length, in turns. No clock is read. Needs Java 21. */
public class Virtual21 {
    static void heavy() { double x = 1; for (int i = 0; i < 1_000_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void light() { double x = 1; for (int i = 0; i < 1_000_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    static void rounds(Runnable loop) {
        for (int i = 0; i < 60; i++) {
            loop.run();
            Thread.yield();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            Runnable loop = i % 4 == 0 ? Virtual21::light : Virtual21::heavy;
            threads.add(Thread.startVirtualThread(() -> rounds(loop)));
        }
        for (Thread thread : threads) thread.join();
        System.out.println("truth Virtual21.heavy 3");
        System.out.println("truth Virtual21.light 1");
    }
}
