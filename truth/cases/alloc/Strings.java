import java.nio.charset.StandardCharsets;
import java.util.Locale;

/** The ways in which strings are made, each with the array of its letters where the library must make one. */
public class Strings {
    static final int N = 400;
    static final Object[] KEEP = new Object[20_000];
    static final byte[] LATIN = {'s', 'o', 'm', 'e'};
    static final char[] WIDE = {'\u4e16', '\u754c', '!'};
    static int count;

    static void hold(Object object) { KEEP[count++] = object; }

    static void plus(String text) { for (int i = 0; i < N; i++) hold(text + i); }
    static void concat(String text, String more) { for (int i = 0; i < N; i++) hold(text.concat(more)); }
    static void repeat(String text) { for (int i = 0; i < N; i++) hold(text.repeat(3)); }
    static void valueOf() { for (int i = 0; i < N; i++) hold(String.valueOf(100_000 + i)); }
    static void decode() { for (int i = 0; i < N; i++) hold(new String(LATIN, StandardCharsets.ISO_8859_1)); }
    static void wide() { for (int i = 0; i < N; i++) hold(new String(WIDE)); }
    static void copy(String text) { for (int i = 0; i < N; i++) hold(new String(text)); }
    static void replace(String text) { for (int i = 0; i < N; i++) hold(text.replace('e', 'E')); }
    static void upper(String text) { for (int i = 0; i < N; i++) hold(text.toUpperCase(Locale.ROOT)); }
    static void strip(String text) { for (int i = 0; i < N; i++) hold(text.strip()); }
    static void hex() { for (int i = 0; i < N; i++) hold(Integer.toHexString(0x10000 + i)); }
    static void buffer(StringBuffer buffer) { for (int i = 0; i < N; i++) { buffer.setLength(4); hold(buffer.toString()); } }
    static void split(String text, String comma) { for (int i = 0; i < N; i++) hold(text.split(comma)); }
    static void join(String text, String dash) { for (int i = 0; i < N; i++) hold(String.join(dash, text, text)); }
    static void chars(String text) { for (int i = 0; i < N; i++) hold(text.toCharArray()); }
    static void bytes(String text) { for (int i = 0; i < N; i++) hold(text.getBytes(StandardCharsets.ISO_8859_1)); }
    static void intern(String text) { for (int i = 0; i < N; i++) hold(text.intern()); }

    /** What the library makes once, when it is first used, belongs here. */
    static void warm() {
        String text = " some, text ".concat("x").strip().toUpperCase(Locale.ROOT).replace('E', 'e').repeat(2);
        hold(String.join("-", text.split(",")));
        hold(Integer.toHexString(99) + new String(LATIN, StandardCharsets.ISO_8859_1) + text.getBytes(StandardCharsets.ISO_8859_1).length);
        hold(String.valueOf(new String(WIDE).intern().toCharArray().length));
    }

    public static void main(String[] args) {
        Truth.load();
        warm();
        plus("some");
        concat("some", "more");
        repeat("some");
        valueOf();
        decode();
        wide();
        copy("some");
        replace("some");
        upper("some");
        strip(" some ");
        hex();
        buffer(new StringBuffer("some text"));
        split("a,bc,def", ",");
        join("some", "-");
        chars("some");
        bytes("some");
        intern("some");
        Truth.ready();
        Known.say();
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.say("objects", "Strings.plus", "java.lang.String", N);
            Truth.say("objects", "Strings.plus", "java.lang.StringBuilder", N);
            Truth.say("objects", "Strings.concat", "java.lang.String", N);
            Truth.allocated("Strings.concat", "byte[]", N, Truth.array(8));
            Truth.say("objects", "Strings.repeat", "java.lang.String", N);
            Truth.allocated("Strings.repeat", "byte[]", N, Truth.array(12));
            Truth.say("objects", "Strings.valueOf", "java.lang.String", N);
            Truth.allocated("Strings.valueOf", "byte[]", N, Truth.array(6));
            // From 26 on the constructor has a method make another String, and copies that.
            int decoded = Runtime.version().feature() >= 26 ? 2 * N : N;
            Truth.say("objects", "Strings.decode", "java.lang.String", decoded);
            Truth.allocated("Strings.decode", "byte[]", N, Truth.array(4));
            Truth.say("objects", "Strings.wide", "java.lang.String", N);
            Truth.say("objects", "Strings.copy", "java.lang.String", N);
            Truth.say("objects", "Strings.copy", "byte[]", 0);
            Truth.say("objects", "Strings.replace", "java.lang.String", N);
            Truth.allocated("Strings.replace", "byte[]", N, Truth.array(4));
            Truth.say("objects", "Strings.upper", "java.lang.String", N);
            Truth.allocated("Strings.upper", "byte[]", N, Truth.array(4));
            Truth.say("objects", "Strings.strip", "java.lang.String", N);
            Truth.allocated("Strings.strip", "byte[]", N, Truth.array(4));
            Truth.say("objects", "Strings.hex", "java.lang.String", N);
            Truth.allocated("Strings.hex", "byte[]", N, Truth.array(5));
            Truth.say("objects", "Strings.buffer", "java.lang.String", N);
            Truth.say("objects", "Strings.split", "java.lang.String", 3 * N);
            Truth.say("objects", "Strings.split", "java.lang.String[]", N);
            Truth.say("objects", "Strings.join", "java.lang.String", N);
            Truth.allocated("Strings.chars", "char[]", N, Truth.array(8));
            Truth.allocated("Strings.bytes", "byte[]", N, Truth.array(4));
            Truth.say("objects", "Strings.intern", "java.lang.String", 0);
        }
    }
}
