/** A loop below 400 frames of recursion, and the same loop below none, 1 : 3. */
public class Deep {
    static void spin(int n) {
        double x = 1;
        for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5;
        Truth.sink = x;
    }

    static void down(int depth) {
        if (depth > 0) down(depth - 1);
        else spin(1_000_000);
    }

    static void deep() {
        down(400);
    }

    static void shallow() {
        spin(3_000_000);
    }

    public static void main(String[] args) {
        Truth.run(5_000, new String[] {"Deep.deep", "Deep.shallow"}, Deep::deep, Deep::shallow);
        Truth.print();
    }
}
