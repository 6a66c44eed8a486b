import java.io.File;
import java.util.ArrayList;
import java.util.List;

/**
 * Keeps objects of known births. Known answer: the first dump has 10,000 `$Early` and 6,000 `$Dropped`; the second, which is
 * made when the program ends, 10,000 `$Early`, the same objects as in the first, and 5,000 `$Late`, which are younger than the
 * first dump, as are 3,000 `$Cloned`, 3,000 `$Reflected` and 3,000 arrays of `$Element`. The 6,000 `$Dropped` are gone. Between
 * the births of `$Early` and the second dump lie at least 1.2 seconds.
 */
public class Births {
    static class Early { long a; }
    static class Dropped { long a; }
    static class Late { long a; }
    static class Element { long a; }
    public static class Reflected { public long a; public Reflected() { } }
    static class Cloned implements Cloneable {
        long a;
        @Override public Cloned clone() throws CloneNotSupportedException { return (Cloned) super.clone(); }
    }

    static final List<Object> early = new ArrayList<>();
    static List<Object> dropped = new ArrayList<>();
    static final List<Object> late = new ArrayList<>();
    static volatile Object sink;

    /** Moves everything, and frees what was dropped. */
    static void collect() {
        for (int i = 0; i < 200_000; i++) sink = new byte[16];
        for (int i = 0; i < 3; i++) System.gc();
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 10_000; i++) early.add(new Early());
        for (int i = 0; i < 6_000; i++) dropped.add(new Dropped());
        Thread.sleep(1_300);
        collect();
        System.out.println("ready");
        while (!new File("go").exists()) Thread.sleep(10);
        dropped = null;
        collect();
        for (int i = 0; i < 5_000; i++) late.add(new Late());
        Cloned model = new Cloned();
        for (int i = 0; i < 2_999; i++) late.add(model.clone());
        late.add(model);
        for (int i = 0; i < 3_000; i++) late.add(Reflected.class.getConstructor().newInstance());
        for (int i = 0; i < 3_000; i++) late.add(new Element[3]);
        collect();
        System.out.println("done");
    }
}
