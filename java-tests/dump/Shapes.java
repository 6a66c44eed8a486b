import java.io.File;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Supplier;

/**
 * Many objects of many shapes, the same in every run. Prints `ready` when they are there and goes on when there is a
 * file `go`. Known answer: two dumps of it describe the same graph, and there are {@code 20000} objects of
 * {@code Shapes$Node}.
 */
public class Shapes {
    interface Top { int T1 = 1; Object T2 = new Object(); String T3 = "t" + T1; }
    interface Left extends Top { long L1 = 2; }
    interface Right extends Top { Object R1 = new int[]{7}; double R2 = 3.5; }
    interface Apart { Object A1 = Apart.class; byte A2 = 4; }

    static class Base implements Left { static int count; protected long id = ++count; Object tag = "base"; boolean flag = true; }
    static class Middle extends Base implements Right { static Object shared = new Object(); Object tag = "middle"; char c = '\uffff'; short s = Short.MIN_VALUE; }
    static class Empty extends Middle implements Apart { }
    static class Leaf extends Empty implements Comparable<Leaf>, Top {
        float f = Float.intBitsToFloat(0x7fc12345);
        double d = Double.longBitsToDouble(0xfff8000000000001L);
        byte b = Byte.MIN_VALUE;
        Object nothing;
        Leaf self = this;
        static volatile Leaf last;
        public int compareTo(Leaf other) { return Long.compare(id, other.id); }
    }

    static class Node {
        int value; Node left; Node right; Object payload; long wide; byte small; boolean odd;
    }

    class Inner { int depth = 3; Supplier<Object> outer = () -> Shapes.this; }

    enum Planet {
        NEAR { Object more() { return "near"; } }, FAR { Object more() { return 42L; } };
        abstract Object more();
        final Object extra = more();
    }

    static final List<Object> all = new ArrayList<>();
    static final Map<String, Object> byName = new HashMap<>();
    static Node[] nodes = new Node[20_000];
    static Object[][] ragged = {{}, null, {1, null, "x"}, {new Object[]{new Object[0]}}};
    static Object[] types = {int.class, void.class, String.class, String[].class, int[][].class, Top.class, Planet.class};
    static Leaf[] leaves = new Leaf[100];
    static Shapes instance = new Shapes();
    static Object unseen;

    Inner inner = new Inner();
    Object anonymous = new Object() { final int[] caught = {1, 2, 3}; };

    static long seed = 42;

    static int next(int bound) {
        seed = seed * 6364136223846793005L + 1442695040888963407L;
        return (int) ((seed >>> 33) % bound);
    }

    public static void main(String[] args) throws Exception {
        makeNodes();
        makeArrays();
        makeCollections();
        System.out.println("ready");
        File go = new File("go");
        while (!go.exists()) Thread.sleep(20);
        System.out.println("done");
    }

    static void makeNodes() {
        for (int i = 0; i < nodes.length; i++) {
            Node node = new Node();
            node.value = next(Integer.MAX_VALUE);
            node.wide = ((long) next(Integer.MAX_VALUE) << 32) - next(Integer.MAX_VALUE);
            node.small = (byte) next(256);
            node.odd = (i & 1) == 1;
            node.left = i == 0 ? node : nodes[next(i)];
            node.right = next(3) == 0 ? null : i == 0 ? null : nodes[i - 1];
            node.payload = payload(next(8), i);
            nodes[i] = node;
        }
        for (int i = 0; i < leaves.length; i++) leaves[i] = next(10) == 0 ? null : new Leaf();
        Leaf.last = leaves[1];
    }

    static Object payload(int kind, int i) {
        switch (kind) {
            case 0: return "latin" + i;
            case 1: return "\u4e16\u754c" + i;
            case 2: return (long) i;
            case 3: return new byte[next(20)];
            case 4: return new Object[next(4)];
            case 5: return new double[]{i, Double.NaN, -0.0};
            case 6: return Planet.values();
            default: return null;
        }
    }

    static void makeArrays() {
        boolean[] booleans = new boolean[17]; char[] chars = new char[33]; short[] shorts = new short[5];
        int[] ints = new int[100_000]; long[] longs = new long[1_000]; float[] floats = {1f, -0f, Float.NaN};
        for (int i = 0; i < booleans.length; i++) booleans[i] = next(2) == 1;
        for (int i = 0; i < chars.length; i++) chars[i] = (char) next(65536);
        for (int i = 0; i < shorts.length; i++) shorts[i] = (short) next(65536);
        for (int i = 0; i < ints.length; i++) ints[i] = next(Integer.MAX_VALUE);
        for (int i = 0; i < longs.length; i++) longs[i] = seed * i;
        Object[] large = new Object[200_000];
        for (int i = 0; i < large.length; i += 7) large[i] = nodes[i % nodes.length];
        all.addAll(List.of(booleans, chars, shorts, ints, longs, floats, new int[0], new long[0][0], large));
    }

    static void makeCollections() {
        Map<Integer, Object> sorted = new TreeMap<>();
        Map<Object, Object> linked = new LinkedHashMap<>();
        ArrayDeque<Object> queue = new ArrayDeque<>();
        BitSet bits = new BitSet();
        EnumMap<Planet, Object> planets = new EnumMap<>(Planet.class);
        for (int i = 0; i < 500; i++) {
            sorted.put(next(10_000), "sorted" + i);
            linked.put("key" + i, nodes[next(nodes.length)]);
            queue.addLast(i);
            bits.set(next(5_000));
            byName.put("name" + i, i);
        }
        planets.put(Planet.FAR, new SoftReference<>(leaves[1]));
        planets.put(Planet.NEAR, new WeakReference<>(leaves[2]));
        all.addAll(List.of(sorted, linked, queue, bits, planets, new IllegalStateException("thrown", new Error())));
        StringBuilder text = new StringBuilder("built");
        all.add(text.append(next(100)));
        String captured = "captured" + next(100);
        all.add((Supplier<Object>) () -> captured);
    }
}
