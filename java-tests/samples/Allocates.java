/** Allocates in one method for about a second. All that the agent does for that is done inside `Allocates.make`. */
public class Allocates {
    static volatile Object kept;

    static void make() {
        for (int i = 0; i < 1_000; i++) {
            kept = new Object[4];
        }
    }

    public static void main(String[] args) {
        long end = System.nanoTime() + 1_000_000_000L;
        while (System.nanoTime() < end) {
            make();
        }
    }
}
