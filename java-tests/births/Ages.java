import java.io.File;

/**
 * Makes objects in four batches, says `made N` after each, and waits for a file `goN`. Known answer: a batch is the array
 * `batchN`, the oldest of it, and its 5,000 elements. Prints `array N by` and `last N after`, in milliseconds of a clock of its
 * own: the array was made at that time or before, the last element at that time or later; and at last `end at`.
 */
public class Ages {
    static class Item { long a, b, c, d, e, f; }

    static final int ITEMS = 5_000;
    static final long BEGIN = System.nanoTime();
    static Object[] batch0;
    static Object[] batch1;
    static Object[] batch2;
    static Object[] batch3;

    static double millis() {
        return (System.nanoTime() - BEGIN) / 1e6;
    }

    static Object[] make(int number) {
        Object[] made = new Object[ITEMS];
        double array = millis();
        for (int i = 0; i < ITEMS - 1; i++) made[i] = new Item();
        double last = millis();
        made[ITEMS - 1] = new Item();
        System.out.println("array " + number + " by " + array);
        System.out.println("last " + number + " after " + last);
        return made;
    }

    static void pause(int number) throws InterruptedException {
        System.gc();
        System.out.println("made " + number);
        while (!new File("go" + number).exists()) Thread.sleep(10);
    }

    public static void main(String[] args) throws Exception {
        batch0 = make(0);
        pause(0);
        batch1 = make(1);
        pause(1);
        batch2 = make(2);
        pause(2);
        batch3 = make(3);
        pause(3);
        System.out.println("end at " + millis());
    }
}
