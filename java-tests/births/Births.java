import java.io.File;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;

/**
 * Keeps objects of known births. Known answer: the first dump has 10,000 `$Early` and 6,000 `$Dropped`; the second, which is
 * made when the program ends, 10,000 `$Early`, the same objects as in the first, and 5,000 `$Late`, which are younger than the
 * first dump, as are 3,000 each of `$Cloned`, `$Reflected`, `$Virtual` (by virtual threads where there are, or else by main),
 * `$Native` (by JNI, if the argument is the library) and arrays of `$Element`. The 6,000 `$Dropped` are gone. Between the births
 * of `$Early` and the second dump lie at least 1.2 seconds. All but `$Dropped` are elements of two lists, `early` and `late`.
 * Prints `early at least` the age in milliseconds of the oldest `$Early` at the end of the program.
 */
public class Births {
    static class Early { long a; }
    static class Dropped { long a; }
    static class Late { long a; }
    static class Element { long a; }
    public static class Reflected { public long a; public Reflected() { } }
    static class Virtual { long a; }
    static class Native { long a; }
    static class Cloned implements Cloneable {
        long a;
        @Override public Cloned clone() throws CloneNotSupportedException { return (Cloned) super.clone(); }
    }

    /** Holds the class of the arrays, which JDK 25 else counts as kept by them. */
    static final Class<?> ARRAYS = Element[].class;
    static final List<Object> early = new ArrayList<>();
    static List<Object> dropped = new ArrayList<>();
    static final List<Object> late = new ArrayList<>();
    static volatile Object sink;

    static native Object allocate(Class<?> type);

    static void virtual() throws Exception {
        Runnable body = () -> { for (int i = 0; i < 300; i++) late.add(new Virtual()); };
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException none) {
            start = null;
        }
        for (int i = 0; i < 10; i++) {
            if (start == null) body.run();
            else ((Thread) start.invoke(null, body)).join();
        }
    }

    /** Moves everything, and frees what was dropped. */
    static void collect() {
        for (int i = 0; i < 200_000; i++) sink = new byte[16];
        for (int i = 0; i < 3; i++) System.gc();
    }

    public static void main(String[] args) throws Exception {
        if (args.length > 0) System.load(args[0]);
        early.add(new Early());
        long oldest = System.nanoTime();
        for (int i = 1; i < 10_000; i++) early.add(new Early());
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
        virtual();
        for (int i = 0; args.length > 0 && i < 3_000; i++) late.add(allocate(Native.class));
        collect();
        System.out.println("early at least " + (System.nanoTime() - oldest) / 1_000_000);
    }
}
