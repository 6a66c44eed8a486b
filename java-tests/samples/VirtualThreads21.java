import java.util.ArrayList;
import java.util.List;

/**
 * Known answer: eight virtual threads burn CPU in `burn`, 1,600 ms of wall time with one carrier thread and less with
 * more, or longer if they have got little CPU by then; nearly all samples are in `burn`. Prints `burned 8`. Needs
 * Java 21.
 */
public class VirtualThreads21 {
    static volatile double sink;

    static void burn(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        for (int round = 0; round < 150 || System.nanoTime() < end; round++) {
            double x = 1;
            for (int i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 8; i++) threads.add(Thread.ofVirtual().name("virtual-" + i).start(() -> burn(200)));
        for (Thread thread : threads) thread.join();
        System.out.println("burned " + threads.size());
    }
}
