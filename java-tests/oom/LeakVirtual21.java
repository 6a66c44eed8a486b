import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Fills the heap from 4 virtual threads named `virtual-0` to `virtual-3`; each ends by the error, after which what it kept
 * is garbage. Prints `ended 4` and ends with status 0.
 *
 * Known answer: what fills the heap are `byte[2000]` that `LeakVirtual21.text` makes, below `LeakVirtual21.fill`.
 */
public class LeakVirtual21 {
    static byte[] text() {
        return new byte[2_000];
    }

    static void fill() {
        List<byte[]> kept = new ArrayList<>(100_000);
        while (true) kept.add(text());
    }

    public static void main(String[] args) throws InterruptedException {
        var ended = new AtomicInteger();
        var threads = new ArrayList<Thread>();
        for (int i = 0; i < 4; i++) {
            threads.add(Thread.ofVirtual().name("virtual-" + i).unstarted(() -> {
                try {
                    fill();
                } catch (OutOfMemoryError e) {
                    ended.incrementAndGet();
                }
            }));
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        System.out.println("ended " + ended.get());
    }
}
