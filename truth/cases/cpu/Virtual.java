// needs: java 21
import java.util.ArrayList;
import java.util.List;

/** Virtual threads, 30 of `heavy` and 10 of `light` loops of equal length, in turns. No clock is read. */
public class Virtual {
    static void heavy() { double x = 1; for (int i = 0; i < 1_000_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void light() { double x = 1; for (int i = 0; i < 1_000_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    static void rounds(Runnable loop) {
        for (int i = 0; i < Truth.scaled(60); i++) {
            loop.run();
            Thread.yield();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 40; i++) {
            Runnable loop = i % 4 == 0 ? Virtual::light : Virtual::heavy;
            threads.add(Thread.startVirtualThread(() -> rounds(loop)));
        }
        for (Thread thread : threads) thread.join();
        Truth.say("cpu", "Virtual.heavy", "-", 3);
        Truth.say("cpu", "Virtual.light", "-", 1);
    }
}
