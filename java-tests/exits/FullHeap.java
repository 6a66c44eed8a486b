import java.util.ArrayList;
import java.util.List;

/**
 * Dies of a heap that stays full: the main thread gets an OutOfMemoryError that nothing catches, and what fills the heap stays
 * reachable, so the thread that is to end the VM finds no room for itself.
 *
 * Known answer: `FullHeap.fill` makes every `FullHeap$Block`, and prints nothing; `FullHeap.work`, called 300 times, used most
 * of the CPU before; at `FullHeap.contend` two threads want one monitor. All blocks but the last are alive at the end.
 */
public class FullHeap {
    static final List<Block> KEPT = new ArrayList<>(1 << 20);
    static Link last;
    static double sink;

    static final class Block {
        final byte[] bytes = new byte[1000];
    }

    /** The smallest object that keeps another. */
    static final class Link {
        final Link before;

        Link(Link before) {
            this.before = before;
        }
    }

    static void work() {
        for (int i = 0; i < 400_000; i++) {
            sink += Math.sqrt(i);
        }
    }

    static void fill() {
        try {
            while (true) {
                KEPT.add(new Block());
            }
        } catch (OutOfMemoryError noRoomForABlock) {
            // Nor is there any for a thread, which is smaller.
            while (true) {
                last = new Link(last);
            }
        }
    }

    static synchronized void contend(Thread other) throws InterruptedException {
        if (other == null) {
            return;
        }
        other.start();
        while (other.getState() != Thread.State.BLOCKED) {
            Thread.sleep(1);
        }
        Thread.sleep(20);
    }

    public static void main(String[] args) throws Exception {
        Thread other = new Thread(() -> {
            try {
                contend(null);
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        }, "other");
        contend(other);
        other.join();
        for (int i = 0; i < 300; i++) {
            work();
        }
        fill();
    }
}
