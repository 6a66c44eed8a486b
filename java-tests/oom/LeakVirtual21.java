import java.util.ArrayList;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Fills the heap from 4 virtual threads named `virtual-0` to `virtual-3`; each ends by the error, after which what it kept
 * is garbage. Prints `ended 4` and ends with status 0.
 *
 * Known answer: what fills the heap are `LeakVirtual21$Page` objects that `LeakVirtual21.page` makes, below `LeakVirtual21.fill`.
 */
public class LeakVirtual21 {
    static class Page {
        final Page before;
        final byte[] text = new byte[20_000];

        Page(Page before) {
            this.before = before;
        }
    }

    static Page page(Page before) {
        return new Page(before);
    }

    static void fill() {
        Page last = null;
        while (true) last = page(last);
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
