/**
 * Ends itself from native code, of the library that the first argument names: with `exit`, the VM is told nothing of it; with
 * `fork`, it is a forked child that exits, while the program goes on and returns from `main`.
 *
 * Known answer: `NativeExit.make` makes 1,000 `NativeExit$Made`. The status is 7 after `exit`; after `fork` the program prints
 * that of its child, 9, and ends well.
 */
public class NativeExit {
    static final class Made {}

    static final Made[] KEPT = new Made[1_000];

    static native void exit(int status);

    /** Answers the status of a child that does nothing but exit with it. */
    static native int exitOfChild(int status);

    static void make() {
        for (int i = 0; i < KEPT.length; i++) {
            KEPT[i] = new Made();
        }
    }

    public static void main(String[] args) {
        System.load(args[0]);
        make();
        if (args[1].equals("exit")) {
            exit(7);
        }
        System.out.println("child " + exitOfChild(9));
    }
}
