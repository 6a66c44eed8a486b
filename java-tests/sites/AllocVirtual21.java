import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * 200 virtual threads; each allocates in 20 rounds and blocks after each, so that it goes on on another carrier.
 * Known answer: 20,000 live `AllocVirtual21$Kept` (200 * 20 * 5) and 40,000 dead `AllocVirtual21$Dropped` (200 * 20 *
 * 10). Prints `threads 200` and `moved N`, the number of threads that ran on more than one carrier. Needs Java 21.
 */
public class AllocVirtual21 {
    static class Kept { long a; }
    static class Dropped { int x; }

    static final int THREADS = 200;
    static final Object[][] KEEP = new Object[THREADS][100];
    static final AtomicInteger MOVED = new AtomicInteger();
    static volatile Object sink;

    static void work(int number) {
        Set<String> carriers = new HashSet<>();
        for (int round = 0; round < 20; round++) {
            keep(KEEP[number], 5 * round);
            drop();
            // `VirtualThread[#31]/runnable@ForkJoinPool-1-worker-2`
            String name = Thread.currentThread().toString();
            carriers.add(name.substring(name.lastIndexOf('@') + 1));
            try {
                Thread.sleep(round % 4);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }
        if (carriers.size() > 1) MOVED.incrementAndGet();
    }

    static void keep(Object[] keep, int first) {
        for (int i = 0; i < 5; i++) keep[first + i] = new Kept();
    }

    static void drop() {
        for (int i = 0; i < 10; i++) sink = new Dropped();
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
            int number = i;
            threads.add(Thread.ofVirtual().name("virtual-" + i).start(() -> work(number)));
        }
        for (Thread thread : threads) thread.join();
        sink = null;
        System.out.println("threads " + THREADS);
        System.out.println("moved " + MOVED.get());
    }
}
