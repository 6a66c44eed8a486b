// library: Jni.c
/** Objects that native code makes: every kind of function that JNI has for that. */
public class Jni {
    static class Raw { int number; }
    static class Built { int number; Built() {} }
    static class Element {}

    static final int N = 700;
    static final Object[] KEEP = new Object[8_000];
    static int count;

    static native Object allocObject(Class<?> type);
    static native Object newObject(Class<?> type);
    static native Object newObjectArray(Class<?> type, int length);
    static native Object newByteArray(int length);
    static native Object newLongArray(int length);
    static native Object newString();
    static native Object newStringUTF();

    static void hold(Object object) { KEEP[count++] = object; }

    static void raw() { for (int i = 0; i < N; i++) hold(allocObject(Raw.class)); }
    static void built() { for (int i = 0; i < N; i++) hold(newObject(Built.class)); }
    static void arrays() { for (int i = 0; i < N; i++) hold(newObjectArray(Element.class, 5)); }
    static void bytes() { for (int i = 0; i < N; i++) hold(newByteArray(33)); }
    static void longs() { for (int i = 0; i < N; i++) hold(newLongArray(2)); }
    static void strings() { for (int i = 0; i < N; i++) hold(newString()); }
    static void utf() { for (int i = 0; i < N; i++) hold(newStringUTF()); }

    /** The VM looks for a native method when it is first called, and makes strings for that. */
    static void link() {
        Truth.kept = allocObject(Raw.class) == newObject(Built.class) ? newObjectArray(Element.class, 1) : newByteArray(1);
        Truth.kept = newLongArray(1) == newString() ? null : newStringUTF();
        Truth.kept = newObjectArray(Element.class, 1);
        Truth.kept = null;
    }

    public static void main(String[] args) {
        System.load(System.getProperty("truth.library"));
        Truth.load();
        link();
        raw();
        built();
        arrays();
        bytes();
        longs();
        strings();
        utf();
        Truth.ready();
        Known.say();
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.allocated("Jni.raw", "Jni$Raw", N, Truth.object(4, 0));
            Truth.allocated("Jni.built", "Jni$Built", N, Truth.object(4, 0));
            Truth.allocated("Jni.arrays", "Jni$Element[]", N, Truth.references(5));
            Truth.allocated("Jni.bytes", "byte[]", N, Truth.array(33));
            Truth.allocated("Jni.longs", "long[]", N, Truth.array(16));
            Truth.say("objects", "Jni.strings", "java.lang.String", N);
            Truth.allocated("Jni.strings", "byte[]", N, Truth.array(6));
            Truth.say("objects", "Jni.utf", "java.lang.String", N);
            Truth.allocated("Jni.utf", "byte[]", N, Truth.array(10));
            // By class alone, for tools that know no sites.
            Truth.live("-", "Jni$Raw", N, Truth.object(4, 0));
            Truth.live("-", "Jni$Element[]", N, Truth.references(5));
        }
    }
}
