import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;

/**
 * Virtual threads that park in the middle of nested calls. Known answer: `leaf` 100 * 20 times, always called by `inner`
 * called by `middle` called by `outer`; `inner` and `middle` 100 * 20 times, `outer` 100 times. The threads are parked for
 * over 2000 ms of wall time together, on next to no CPU. Needs Java 21.
 */
public class Virtual21 {
    static final AtomicInteger SINK = new AtomicInteger();

    static void leaf() { SINK.incrementAndGet(); }
    static void inner() {
        LockSupport.parkNanos(1_000_000);
        Thread.yield();
        leaf();
    }
    static void middle() { inner(); }
    static void outer() { for (int i = 0; i < 20; i++) middle(); }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 100; i++) threads.add(Thread.ofVirtual().start(Virtual21::outer));
        for (Thread thread : threads) thread.join();
        System.out.println("leaf " + SINK.get());
    }
}
