/** Megabytes that stay and megabytes that go, in turns, and what is live after a collection: enough for tools that sample. */
public class Live {
    static final int N = 40_000;
    static final Object[] KEEP = new Object[N];
    static final Object[] REPLACED = new Object[64];

    static Object most() { return new byte[1_000]; }
    static Object some() { return new short[150]; }
    static Object none() { return new int[400]; }

    public static void main(String[] args) {
        Truth.load();
        for (int i = 0; i < N; i++) {
            KEEP[i] = i % 4 == 0 ? some() : most();
            REPLACED[i & 63] = none();
        }
        java.util.Arrays.fill(REPLACED, null);
        System.gc();
        Truth.ready();
        Known.say();
        Truth.sink = KEEP.length;
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.allocated("Live.most", "byte[]", 30_000, Truth.array(1_000));
            Truth.live("Live.most", "byte[]", 30_000, Truth.array(1_000));
            Truth.allocated("Live.some", "short[]", 10_000, Truth.array(300));
            Truth.live("Live.some", "short[]", 10_000, Truth.array(300));
            Truth.allocated("Live.none", "int[]", 40_000, Truth.array(1_600));
            Truth.live("Live.none", "int[]", 0, Truth.array(1_600));
        }
    }
}
