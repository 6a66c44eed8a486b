/** Every type of field, static and not, hidden and inherited, arrays of every type, nulls, cycles, strings of both kinds. */
public class Fields {
    static boolean zS = true;
    static byte bS = -2;
    static char cS = '\u00e9';
    static short sS = -300;
    static int iS = 123456789;
    static long jS = -1234567890123456789L;
    static float fS = 1.5f;
    static double dS = -2.25;
    static String latin = "stat\u00efque";
    static String wide = "\u4e16\u754c";
    static Object nullS = null;

    static class Parent {
        int i = 1;
        long j = 1L << 40;
        Object shadow = "parent";
        private boolean z = true;
    }

    static class Child extends Parent {
        byte b = 3;
        char c = 'x';
        Object shadow = "child";
        double d = 4.5;
        Child self;
    }

    static class GrandChild extends Child {
        short s = 5;
        float f = 6.5f;
        Object nothing;
        int[][] grid = {{1}, {2, 3}, null};
    }

    enum Colour { RED, GREEN }

    static GrandChild root = new GrandChild();
    static Object[] mixed = {root, "text", null, Colour.GREEN, new boolean[] {true, false}, new byte[] {-1}, new char[] {'y'},
        new short[] {-7}, new int[] {8}, new long[] {1L << 41}, new float[] {0.5f}, new double[] {-0.125}, new Object[0],
        new String[][] {{"deep"}}};

    static void value(String path, Object value) { System.out.println("fact value " + path + " " + value); }
    static void kind(String path, String kind) { System.out.println("fact class " + path + " " + kind); }

    public static void main(String[] args) {
        root.self = root;
        Truth.ready();
        value("Fields.zS", zS);
        value("Fields.bS", bS);
        value("Fields.cS", (int) cS);
        value("Fields.sS", sS);
        value("Fields.iS", iS);
        value("Fields.jS", jS);
        value("Fields.fS", fS);
        value("Fields.dS", dS);
        value("Fields.latin", "\"stat\\u00efque\"");
        value("Fields.wide", "\"\\u4e16\\u754c\"");
        value("Fields.nullS", "null");
        kind("Fields.root", "Fields$GrandChild");
        value("Fields.root.i", 1);
        value("Fields.root.j", 1L << 40);
        value("Fields.root.z", true);
        value("Fields.root.b", 3);
        value("Fields.root.c", (int) 'x');
        value("Fields.root.d", 4.5);
        value("Fields.root.s", 5);
        value("Fields.root.f", 6.5);
        value("Fields.root.nothing", "null");
        value("Fields.root.shadow", "\"child\"");
        value("Fields.root.Fields$Parent:shadow", "\"parent\"");
        System.out.println("fact same Fields.root.self Fields.root");
        System.out.println("fact same Fields.mixed[0] Fields.root");
        System.out.println("fact length Fields.root.grid 3");
        System.out.println("fact elements Fields.root.grid[0] 1");
        System.out.println("fact elements Fields.root.grid[1] 2 3");
        value("Fields.root.grid[2]", "null");
        kind("Fields.root.grid", "int[][]");
        System.out.println("fact length Fields.mixed 14");
        value("Fields.mixed[1]", "\"text\"");
        value("Fields.mixed[2]", "null");
        kind("Fields.mixed[3]", "Fields$Colour");
        value("Fields.mixed[3].name", "\"GREEN\"");
        value("Fields.mixed[3].ordinal", 1);
        System.out.println("fact elements Fields.mixed[4] true false");
        System.out.println("fact elements Fields.mixed[5] -1");
        System.out.println("fact elements Fields.mixed[6] 121");
        System.out.println("fact elements Fields.mixed[7] -7");
        System.out.println("fact elements Fields.mixed[8] 8");
        System.out.println("fact elements Fields.mixed[9] " + (1L << 41));
        System.out.println("fact elements Fields.mixed[10] 0.5");
        System.out.println("fact elements Fields.mixed[11] -0.125");
        System.out.println("fact length Fields.mixed[12] 0");
        kind("Fields.mixed[13]", "java.lang.String[][]");
        value("Fields.mixed[13][0][0]", "\"deep\"");
    }
}
