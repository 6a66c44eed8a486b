// variant interpreted: -Xint
/** Objects, arrays and subclasses at methods of their own; some are kept, some dropped, and one site is reached in two ways. */
public class Sites {
    static class Kept { int number; Object next; }
    static class Dropped { byte small; }
    static class Base { int number = 1; }
    static class Derived extends Base { String text; }
    static class Shared { int number; }

    static final Object[] KEEP = new Object[20_000];
    static int count;

    static void hold(Object object) { KEEP[count++] = object; }

    static void keep(int n) { for (int i = 0; i < n; i++) hold(new Kept()); }
    static void drop(int n) { for (int i = 0; i < n; i++) Truth.kept = new Dropped(); }
    static void derive(int n) { for (int i = 0; i < n; i++) hold(new Derived()); }
    static void ints(int n) { for (int i = 0; i < n; i++) hold(new int[16]); }
    static void strings(int n) { for (int i = 0; i < n; i++) hold(new String[4]); }
    static void grids(int n) { for (int i = 0; i < n; i++) hold(new long[3][5]); }
    static void odd(int n) { for (int i = 0; i < n; i++) hold(new byte[i % 10]); }
    static void share() { hold(new Shared()); }
    static void once() { share(); }
    static void twice() { share(); share(); }

    public static void main(String[] args) {
        Truth.load();
        keep(1_000);
        drop(5_000);
        derive(200);
        ints(300);
        strings(100);
        grids(50);
        odd(1_000);
        for (int i = 0; i < 400; i++) { once(); twice(); }
        Truth.kept = null;
        System.gc();
        Truth.ready();
        Known.say();
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.allocated("Sites.keep", "Sites$Kept", 1_000, Truth.object(4, 1));
            Truth.live("Sites.keep", "Sites$Kept", 1_000, Truth.object(4, 1));
            Truth.allocated("Sites.drop", "Sites$Dropped", 5_000, Truth.object(1, 0));
            Truth.live("Sites.drop", "Sites$Dropped", 0, Truth.object(1, 0));
            Truth.allocated("Sites.derive", "Sites$Derived", 200, Truth.object(4, 1));
            Truth.allocated("Sites.derive", "Sites$Base", 0, Truth.object(4, 0));
            Truth.allocated("Sites.ints", "int[]", 300, Truth.array(64));
            Truth.allocated("Sites.strings", "java.lang.String[]", 100, Truth.references(4));
            Truth.allocated("Sites.grids", "long[][]", 50, Truth.references(3));
            Truth.allocated("Sites.grids", "long[]", 150, Truth.array(40));
            long bytes = 0;
            for (int i = 0; i < 1_000; i++) bytes += Truth.array(i % 10);
            Truth.say("objects", "Sites.odd", "byte[]", 1_000);
            Truth.say("bytes", "Sites.odd", "byte[]", bytes);
            Truth.allocated("Sites.once", "Sites$Shared", 400, Truth.object(4, 0));
            Truth.allocated("Sites.twice", "Sites$Shared", 800, Truth.object(4, 0));
            // By class alone, for tools that know no sites.
            Truth.live("-", "Sites$Kept", 1_000, Truth.object(4, 1));
            Truth.live("-", "Sites$Dropped", 0, Truth.object(1, 0));
            Truth.live("-", "Sites$Shared", 1_200, Truth.object(4, 0));
            Truth.live("-", "long[][]", 50, Truth.references(3));
        }
    }
}
