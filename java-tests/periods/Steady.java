import java.nio.file.Files;
import java.nio.file.Path;

/*
 * Two threads, and more that come and go, make objects and call methods until there is a file "stop" in the folder.
 *
 * Prints "ready" once all of it has begun, and at the end "items N calls N short N kept 1000": so many Item were made by
 * make(), so often was work() called, so many threads "short" have been (each makes one Short), and so many Item are alive.
 */
public class Steady {
    static final class Item {
        long a, b;
    }

    static final class Short {
        byte b;
    }

    static final int KEPT = 500;
    static volatile boolean stop;

    /** One of the two threads. */
    static final class Loop extends Thread {
        final Item[] kept = new Item[KEPT];
        long items, calls;
        int sum;

        Loop(String name) {
            super(name);
        }

        static Item make() {
            return new Item();
        }

        static int work(int value) {
            return value * 31 + 7;
        }

        @Override
        public void run() {
            while (!stop || items < KEPT) {
                kept[(int) (items++ % KEPT)] = make();
                for (int i = 0; i < 3; i++) {
                    sum = work(sum);
                    calls++;
                }
                if (items % 200 == 0) {
                    pause();
                }
            }
        }
    }

    static void pause() {
        try {
            Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static Short last;
    /** Alive to the end. */
    static Loop one, two;

    public static void main(String[] args) throws Exception {
        one = new Loop("one");
        two = new Loop("two");
        one.start();
        two.start();
        Path end = Path.of("stop");
        long threads = 0;
        System.out.println("ready");
        while (!Files.exists(end)) {
            Thread brief = new Thread(() -> last = new Short(), "short");
            brief.start();
            brief.join();
            threads++;
            Thread.sleep(2);
        }
        stop = true;
        one.join();
        two.join();
        System.out.println("items " + (one.items + two.items) + " calls " + (one.calls + two.calls)
                + " short " + threads + " kept " + 2 * KEPT);
        System.out.println(one.kept.length + two.kept.length + one.sum + two.sum == 0 ? "" : "done");
    }
}
