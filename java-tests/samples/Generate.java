import java.io.InputStream;

/**
 * Defines a class of thirty methods, calls one of them and forgets the class, as often as the argument says. Prints `generated`.
 */
public class Generate {
    public static class Work {
        int a(int n) { return n; } int b(int n) { return n; } int c(int n) { return n; } int d(int n) { return n; } int e(int n) { return n; }
        int f(int n) { return n; } int g(int n) { return n; } int h(int n) { return n; } int i(int n) { return n; } int j(int n) { return n; }
        int k(int n) { return n; } int l(int n) { return n; } int m(int n) { return n; } int o(int n) { return n; } int p(int n) { return n; }
        int q(int n) { return n; } int r(int n) { return n; } int s(int n) { return n; } int t(int n) { return n; } int u(int n) { return n; }
        int v(int n) { return n; } int w(int n) { return n; } int x(int n) { return n; } int y(int n) { return n; } int z(int n) { return n; }
        static int spin(int n) { int sum = 0; for (int i = 0; i < n; i++) sum += i ^ sum; return sum; }
        public static int sum = spin(1000);
    }

    static class Loader extends ClassLoader {
        Loader() { super(null); }
        Class<?> define(byte[] bytes) { return defineClass("Generate$Work", bytes, 0, bytes.length); }
    }

    public static void main(String[] args) throws Exception {
        byte[] bytes;
        try (InputStream in = Generate.class.getResourceAsStream("Generate$Work.class")) { bytes = in.readAllBytes(); }
        int sum = 0;
        for (int i = 0; i < Integer.parseInt(args[0]); i++) {
            sum += new Loader().define(bytes).getField("sum").getInt(null);
        }
        System.out.println("generated " + sum);
    }
}
