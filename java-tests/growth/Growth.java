import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.List;

/**
 * Leaks, and what looks like leaks, for six seconds in ticks of 20 ms, with a forced collection every five. Known answer:
 *
 * Leaks: `$Slow`, one object a tick; `$Burst`, 40 every 25 ticks; `$OneOfMany`, one of 40 made by the same line.
 *
 * No leaks: `$Cached`, 5,000 from the start; `$Garbage`, 2,000 a tick; `$Queued`, more and more at a time, each for 15
 * ticks; `$Warm`, one a tick in the first half; `$Buffered`, ten a tick, all dropped every 100 ticks; `$Recent`, the last
 * 1,000 of many.
 */
public class Growth {
    static class Slow { long a; }
    static class Burst { long a; }
    static class OneOfMany { long a; }
    static class Cached { long a; }
    static class Garbage { long a; }
    static class Queued { long a; }
    static class Warm { long a; }
    static class Buffered { long a; }
    static class Recent { long a; }

    static final int TICKS = 300;
    static final long TICK_NANOS = 20_000_000;
    static final List<Object> slow = new ArrayList<>();
    static final List<Object> burst = new ArrayList<>();
    static final List<Object> oneOfMany = new ArrayList<>();
    static final List<Object> cached = new ArrayList<>();
    static final List<Object> warm = new ArrayList<>();
    static final List<Object> buffered = new ArrayList<>();
    static final ArrayDeque<Object[]> queue = new ArrayDeque<>();
    static final Object[] recent = new Object[1_000];
    static volatile Object sink;

    static Object[] queued(int count) {
        Object[] made = new Object[count];
        for (int i = 0; i < count; i++) made[i] = new Queued();
        return made;
    }

    static void tick(int tick) {
        slow.add(new Slow());
        if (tick % 25 == 0) for (int i = 0; i < 40; i++) burst.add(new Burst());
        for (int i = 0; i < 40; i++) {
            Object made = new OneOfMany();
            if (i == 10) oneOfMany.add(made);
            else sink = made;
        }
        for (int i = 0; i < 2_000; i++) sink = new Garbage();
        queue.add(queued(5 + tick / 2));
        if (queue.size() > 15) queue.remove();
        if (tick < TICKS / 2) warm.add(new Warm());
        if (tick % 100 == 0) buffered.clear();
        for (int i = 0; i < 10; i++) buffered.add(new Buffered());
        for (int i = 0; i < 50; i++) recent[(tick * 50 + i) % recent.length] = new Recent();
        sink = null;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 5_000; i++) cached.add(new Cached());
        for (int i = 0; i < recent.length; i++) recent[i] = new Recent();
        long begin = System.nanoTime();
        for (int tick = 0; tick < TICKS; tick++) {
            tick(tick);
            if (tick % 5 == 4) System.gc();
            long wait = begin + (tick + 1) * TICK_NANOS - System.nanoTime();
            if (wait > 0) Thread.sleep(wait / 1_000_000);
        }
        System.out.println("done");
    }
}
