import java.io.File;

/**
 * A small graph that has every kind of field, array and inheritance a dump must carry. Prints `ready` in {@code main},
 * with everything alive, and goes on when there is a file `go`. Known answer: the values below; `local` is held by the
 * frame of `main` alone, `perThread` by the main thread's thread-local.
 */
public class Graph {
    static boolean zS = true;
    static byte bS = -2;
    static char cS = '\u00e9';
    static short sS = -300;
    static int iS = 123456789;
    static long jS = -1234567890123456789L;
    static float fS = 1.5f;
    static double dS = -2.25;
    static String strS = "stat\u00efque";
    static String wide = "\u4e16\u754c";
    static Object nullS = null;
    static int[] arrS = {1, 2, 3};

    interface HasConst { Object SHARED = new Object(); int N = 7; }

    static class Parent implements HasConst {
        int i = 1;
        long j = 2;
        Object shadow = "parent";
        private boolean z = true;
    }

    static class Child extends Parent {
        byte b = 3;
        char c = 'x';
        Object shadow = "child";
        double d = 4.5;
        Child other;
    }

    static class GrandChild extends Child {
        short s = 5;
        float f = 6.5f;
        Object nul;
        int[][] grid = {{1}, {2, 3}, null};
    }

    static class InFrame extends Parent { int mark = 4711; }
    static class PerThread { int mark = 4712; }

    enum Colour { RED, GREEN }

    static GrandChild root = new GrandChild();
    static Object[] mixed = {root, "s", null, Colour.GREEN, new boolean[]{true, false}, new byte[]{-1}, new char[]{'y'},
        new short[]{-7}, new int[]{8}, new long[]{9L}, new float[]{1f}, new double[]{2d}, new Object[0],
        new String[][]{{"q"}}};
    static Runnable lambda = () -> System.out.println(root);

    public static void main(String[] args) throws Exception {
        root.other = root;
        Object shared = HasConst.SHARED;
        ThreadLocal<Object> perThread = new ThreadLocal<>();
        perThread.set(new PerThread());
        Object local = new InFrame();
        System.out.println("ready");
        File go = new File("go");
        while (!go.exists()) Thread.sleep(20);
        System.out.println(local == null || perThread.get() == null || shared == null ? "null" : "done");
    }
}
