import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/** Which sites leak? One registers forty listeners a second and forgets them; a queue of a thousand is as long as it was. */
// asks: growth
public final class Grows {
    static final class Listener {
        final long[] state = new long[8];
    }

    static final class Job {
        long a;
    }

    private static final List<Object> LISTENERS = new ArrayList<>();
    private static final ArrayDeque<Object> QUEUE = new ArrayDeque<>();

    static void subscribe() {
        LISTENERS.add(new Listener());
    }

    static void turn() {
        QUEUE.add(new Job());
        if (QUEUE.size() > 1_000) QUEUE.remove();
    }

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 1_000; i++) turn();
        long begin = System.nanoTime();
        int ticks = 400;
        for (int tick = 0; tick < ticks; tick++) {
            subscribe();
            for (int i = 0; i < 100; i++) turn();
            if (tick % 20 == 19) System.gc();
            long wait = begin + (tick + 1) * 25_000_000L - System.nanoTime();
            if (wait > 0) Thread.sleep(wait / 1_000_000, (int) (wait % 1_000_000));
        }
        // A tick is never shorter than it should be, and a straight line through the looks is no steeper.
        long taken = System.nanoTime() - begin;
        Truth.say("growing_objects_per_minute", "Grows.subscribe", "Grows$Listener", 50L * 60_000_000_000L * ticks / taken / 100, 2_900);
        Truth.say("growing_sites", "Grows.turn", "Grows$Job", 0);
    }
}
