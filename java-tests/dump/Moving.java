import java.io.File;
import java.util.SplittableRandom;
import java.util.concurrent.CountDownLatch;

/**
 * Threads whose stacks grow and shrink all the time, inside frames of {@code hold} that stay. Prints `ready` when all are
 * there and goes on when there is a file `go`. Known answer: each `Moving$Marker` is held by a frame of {@code hold} that
 * has {@code outside} others of {@code hold} outside it; a `Moving$Step` is held by frames of {@code down}.
 */
public class Moving {
    static class Marker {
        final int outside;
        Marker(int outside) { this.outside = outside; }
    }

    static class Step { }

    static final int DEEPEST = 40;
    static final Step[] steps = new Step[DEEPEST];
    static final CountDownLatch moving = new CountDownLatch(3);
    static volatile boolean over;
    static volatile Object used;

    /** Holds a marker, with as many frames of its own inside as {@code more} says. */
    static void hold(int outside, int more) {
        Marker marker = new Marker(outside);
        if (more > 0) {
            hold(outside + 1, more - 1);
        } else {
            move();
        }
        used = marker;
    }

    static void move() {
        SplittableRandom random = new SplittableRandom(1);
        moving.countDown();
        while (!over) down(random.nextInt(DEEPEST));
    }

    static void down(int more) {
        Step step = steps[more];
        if (more > 0) down(more - 1);
        used = step;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < DEEPEST; i++) steps[i] = new Step();
        Thread[] threads = new Thread[3];
        for (int i = 0; i < threads.length; i++) {
            int more = i;
            threads[i] = new Thread(() -> hold(0, more), "holding " + (more + 1));
            threads[i].start();
        }
        moving.await();
        System.out.println("ready");
        File go = new File("go");
        while (!go.exists()) Thread.sleep(5);
        over = true;
        for (Thread thread : threads) thread.join();
        System.out.println("done");
    }
}
