/** A million objects of 16 bytes at one site, and twenty large arrays at another (async-profiler #880). */
public class Million {
    static class Small { int number; }

    static final Object[] LAST = new Object[1_024];

    static void small(int n) { for (int i = 0; i < n; i++) LAST[i & 1_023] = new Small(); }
    static void large(int n) { for (int i = 0; i < n; i++) LAST[i] = new byte[800_000]; }

    public static void main(String[] args) {
        Truth.load();
        small(1_000_000);
        large(20);
        Truth.ready();
        Known.say();
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.allocated("Million.small", "Million$Small", 1_000_000, Truth.object(4, 0));
            Truth.allocated("Million.large", "byte[]", 20, Truth.array(800_000));
        }
    }
}
