/** Arrays too large for a thread's buffer, beside small ones: 40 MB, 40 MB and 4 MB. */
public class Large {
    static void huge() { for (int i = 0; i < 8; i++) Truth.kept = new byte[5_000_000]; }
    static void large() { for (int i = 0; i < 80; i++) Truth.kept = new int[125_000]; }
    static void small() { for (int i = 0; i < 4_000; i++) Truth.kept = new byte[1_000]; }

    public static void main(String[] args) {
        Truth.load();
        huge();
        large();
        small();
        Truth.kept = null;
        Truth.ready();
        Known.say();
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.allocated("Large.huge", "byte[]", 8, Truth.array(5_000_000));
            Truth.allocated("Large.large", "int[]", 80, Truth.array(500_000));
            Truth.allocated("Large.small", "byte[]", 4_000, Truth.array(1_000));
        }
    }
}
