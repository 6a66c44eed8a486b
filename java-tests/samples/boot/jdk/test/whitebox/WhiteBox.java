package jdk.test.whitebox;

/** The part of the interface of HotSpot's own tests that discards compiled code; on the boot class path, with -XX:+WhiteBoxAPI. */
public class WhiteBox {
    static { registerNatives(); }

    private static native void registerNatives();
    public native void deoptimizeAll();
    public native int deoptimizeFrames(boolean makeNotEntrant);

    private static int turn;

    /** Discards all code, or the frames of it on all stacks, in turn. */
    public static void discard() {
        WhiteBox box = new WhiteBox();
        turn++;
        if (turn % 4 == 0) {
            box.deoptimizeAll();
        } else {
            box.deoptimizeFrames(turn % 2 == 0);
        }
    }
}
