import java.io.ByteArrayOutputStream;
import java.io.InputStream;

/** One class by three loaders, with statics of its own in each, and hidden classes of lambdas. */
public class Loaders {
    public static class Twin {
        public static int mark;
        public static Object own = new Object();
    }

    static class Own extends ClassLoader {
        final String label;
        Own(String label) { super(null); this.label = label; }
        Class<?> define(byte[] code) { return defineClass("Loaders$Twin", code, 0, code.length); }
        @Override protected Class<?> findClass(String name) throws ClassNotFoundException {
            return Loaders.class.getClassLoader().loadClass(name);
        }
    }

    static final Own LEFT = new Own("left");
    static final Own RIGHT = new Own("right");
    static Class<?> left, right;
    static Object[] twins;
    static int captured = 17;
    static Runnable[] lambdas = new Runnable[3];

    public static void main(String[] args) throws Exception {
        byte[] code;
        try (InputStream in = Loaders.class.getResourceAsStream("Loaders$Twin.class"); ByteArrayOutputStream out = new ByteArrayOutputStream()) {
            in.transferTo(out);
            code = out.toByteArray();
        }
        left = LEFT.define(code);
        right = RIGHT.define(code);
        Twin.mark = 1;
        left.getField("mark").setInt(null, 2);
        right.getField("mark").setInt(null, 3);
        twins = new Object[] {new Twin(), left.getDeclaredConstructor().newInstance(), right.getDeclaredConstructor().newInstance()};
        for (int i = 0; i < 3; i++) {
            int number = i;
            lambdas[i] = () -> captured += number;
        }
        Truth.ready();
        System.out.println("fact statics Loaders$Twin mark 1 2 3");
        System.out.println("fact loader Loaders.twins[1] Loaders.LEFT");
        System.out.println("fact loader Loaders.twins[2] Loaders.RIGHT");
        System.out.println("fact value Loaders.LEFT.label \"left\"");
        System.out.println("fact class Loaders.twins[1] Loaders$Twin");
        System.out.println("fact class Loaders.lambdas[0] Loaders$$Lambda*");
        Truth.say("live_objects", "-", "Loaders$Twin", 3);
    }
}
