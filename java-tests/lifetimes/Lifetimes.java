import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;

/**
 * Objects whose lifetimes are known in collections, of which the program forces 24. Known answer, 10,000 objects of each
 * class:
 *
 * `$Temporary`, `$Virtual` (by virtual threads where there are, or else by main): dead, 0 survived; `$Dead1`, `$Dead2`,
 * `$Dead4`, `$Dead7`, `$Dead12`, `$Dead22`: dead after so many collections; `$Live3`, `$Live6`, `$Live12`, `$Live22`:
 * alive after so many collections (and one more if the agent forces one at the end); `$Element[]`, which
 * `Array.newInstance` makes, dead after 1; `$Reflected` dead after 2; `$Cloned` dead after 4, one of them by `new`;
 * `$Native`, by JNI, dead after 2, if the first argument is the library. With the second argument it waits for a file `go`.
 */
public class Lifetimes {
    static class Temporary { long a; }
    static class Virtual { long a; }
    static class Dead1 { long a; }
    static class Dead2 { long a; }
    static class Dead4 { long a; }
    static class Dead7 { long a; }
    static class Dead12 { long a; }
    static class Dead22 { long a; }
    static class Live3 { long a; }
    static class Live6 { long a; }
    static class Live12 { long a; }
    static class Live22 { long a; }
    static class Element { }
    static class Reflected { int a; }
    static class Native { long a; }
    static class Garbage { long a; }

    static class Cloned implements Cloneable {
        @Override protected Cloned clone() throws CloneNotSupportedException { return (Cloned) super.clone(); }
    }

    static native Object allocate(Class<?> type);

    interface Maker { Object make() throws Exception; }

    static final int COLLECTIONS = 24;
    static final int OBJECTS = 10_000;
    /** The objects that are dropped after so many collections. */
    static final Object[][][] DROPPED = new Object[COLLECTIONS + 1][][];
    static final Object[][] KEPT = new Object[4][];
    static volatile Object sink;

    static Object[] make(Maker maker) throws Exception {
        Object[] made = new Object[OBJECTS];
        for (int i = 0; i < OBJECTS; i++) made[i] = maker.make();
        return made;
    }

    static Object[] clones() throws Exception {
        Cloned first = new Cloned();
        Object[] made = new Object[OBJECTS];
        made[0] = first;
        for (int i = 1; i < OBJECTS; i++) made[i] = first.clone();
        return made;
    }

    static void virtual() throws Exception {
        Runnable body = () -> {
            for (int i = 0; i < OBJECTS / 100; i++) sink = new Virtual();
        };
        Method start;
        try {
            start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        } catch (NoSuchMethodException none) {
            start = null;
        }
        for (int i = 0; i < 100; i++) {
            if (start == null) body.run();
            else ((Thread) start.invoke(null, body)).join();
        }
        sink = null;
    }

    /** Objects that die at once tell the agent that the collection is over where it cannot see that otherwise. */
    static void collect() throws Exception {
        for (int i = 0; i < 100; i++) sink = new Garbage();
        sink = null;
        System.gc();
        Thread.sleep(250);
    }

    public static void main(String[] args) throws Exception {
        boolean hasNative = args.length > 0 && !args[0].isEmpty();
        if (hasNative) System.load(args[0]);
        if (args.length > 1) {
            System.out.println("ready");
            while (!new java.io.File("go").exists()) Thread.sleep(20);
        }
        Constructor<Reflected> reflected = Reflected.class.getDeclaredConstructor();
        for (int i = 0; i < OBJECTS; i++) sink = new Temporary();
        virtual();
        DROPPED[1] = new Object[][] {make(Dead1::new), make(() -> Array.newInstance(Element.class, 2))};
        DROPPED[2] = new Object[][] {make(Dead2::new), make(reflected::newInstance),
            hasNative ? make(() -> allocate(Native.class)) : null};
        DROPPED[4] = new Object[][] {make(Dead4::new), clones()};
        DROPPED[7] = new Object[][] {make(Dead7::new)};
        DROPPED[12] = new Object[][] {make(Dead12::new)};
        DROPPED[22] = new Object[][] {make(Dead22::new)};
        for (int done = 0; done < COLLECTIONS; done++) {
            switch (COLLECTIONS - done) {
                case 22: KEPT[0] = make(Live22::new); break;
                case 12: KEPT[1] = make(Live12::new); break;
                case 6: KEPT[2] = make(Live6::new); break;
                case 3: KEPT[3] = make(Live3::new); break;
                default: break;
            }
            DROPPED[done] = null;
            collect();
        }
        System.out.println("done");
    }
}
