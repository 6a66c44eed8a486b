import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.util.function.IntSupplier;

/** Every way in which code makes objects without `new`, and some with it. */
public class Ways {
    static class Made { int number; public Made() {} }
    static class Copied implements Cloneable {
        int number;
        Copied copy() {
            try {
                return (Copied) clone();
            } catch (CloneNotSupportedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static final int N = 500;
    static final Object[] KEEP = new Object[20_000];
    static final char[] LETTERS = {'a', '\u4e16'};
    static int count;

    static void hold(Object object) { KEEP[count++] = object; }

    static void box() { for (int i = 0; i < N; i++) hold(1_000_000 + i); }
    static void boxLong() { for (int i = 0; i < N; i++) hold(1_000_000L + i); }
    static void lambda() { for (int i = 0; i < N; i++) hold(supplier(i)); }
    static IntSupplier supplier(int i) { return () -> i; }
    static void build(StringBuilder builder) { for (int i = 0; i < N; i++) hold(builder.toString()); }
    static void substring(String text) { for (int i = 0; i < N; i++) hold(text.substring(1)); }
    static void chars() { for (int i = 0; i < N; i++) hold(new String(LETTERS)); }
    static void cloneArray(int[] array) { for (int i = 0; i < N; i++) hold(array.clone()); }
    static void cloneObject(Copied copied) { for (int i = 0; i < N; i++) hold(copied.copy()); }
    static void construct(Constructor<?> constructor) throws Exception { for (int i = 0; i < N; i++) hold(constructor.newInstance()); }
    static void reflectArray() { for (int i = 0; i < N; i++) hold(Array.newInstance(Made.class, 4)); }
    static void vary() { for (int i = 0; i < N; i++) hold(same(1, 2, 3)); }
    static int[] same(int... numbers) { return numbers; }

    public static void main(String[] args) throws Exception {
        Truth.load();
        box();
        boxLong();
        lambda();
        build(new StringBuilder("some text"));
        substring("some text");
        chars();
        cloneArray(new int[8]);
        cloneObject(new Copied());
        construct(Made.class.getDeclaredConstructor());
        reflectArray();
        vary();
        Truth.ready();
        Known.say();
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.allocated("Ways.box", "java.lang.Integer", N, Truth.object(4, 0));
            Truth.say("objects", "Ways.boxLong", "java.lang.Long", N);
            Truth.say("objects", "Ways.lambda", "Ways$$Lambda*", N);
            Truth.say("objects", "Ways.build", "java.lang.String", N);
            Truth.allocated("Ways.build", "byte[]", N, Truth.array(9));
            Truth.say("objects", "Ways.substring", "java.lang.String", N);
            Truth.allocated("Ways.substring", "byte[]", N, Truth.array(8));
            Truth.say("objects", "Ways.chars", "java.lang.String", N);
            Truth.allocated("Ways.cloneArray", "int[]", N, Truth.array(32));
            Truth.allocated("Ways.cloneObject", "Ways$Copied", N, Truth.object(4, 0));
            Truth.allocated("Ways.construct", "Ways$Made", N, Truth.object(4, 0));
            Truth.allocated("Ways.reflectArray", "Ways$Made[]", N, Truth.references(4));
            Truth.allocated("Ways.vary", "int[]", N, Truth.array(12));
        }
    }
}
