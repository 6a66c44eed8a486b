/**
 * Known answer: `AllocLines.items` keeps objects of `AllocLines$Item` that it makes in three lines: 30 in line 15, 70
 * in line 16, and in line 17 two at a time, 50 and 50. With `lineno=y` these are three rows (30, 70, 100), with
 * `lineno=n` one (200). Prints `kept 200`.
 *
 * A change above the three lines must keep the numbers here and in the tests right.
 */
public class AllocLines {
    static class Item { }

    static final Object[] KEEP = new Object[200];
    static int kept;

    static void items() {
        for (int i = 0; i < 30; i++) hold(new Item());
        for (int i = 0; i < 70; i++) hold(new Item());
        for (int i = 0; i < 50; i++) { hold(new Item()); hold(new Item()); }
    }

    static void hold(Object o) {
        KEEP[kept++] = o;
    }

    public static void main(String[] args) {
        items();
        System.out.println("kept " + kept);
    }
}
