/** About 70, 20 and 10 % for a counted loop, an inlined one and one that polls. */
public class Ratio {
    static void counted() {
        double x = 1;
        for (int i = 0; i < 3_500_000; i++) x = x * 1.0000001 + 0.5;
        Truth.sink = x;
    }

    static double step(double x) {
        return x * 1.0000001 + 0.5;
    }

    static void inlined() {
        double x = 1;
        for (int i = 0; i < 1_000_000; i++) x = step(x);
        Truth.sink = x;
    }

    static void polled() {
        double x = 1;
        for (long i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5;
        Truth.sink = x;
    }

    public static void main(String[] args) {
        Truth.run(6_000, new String[] {"Ratio.counted", "Ratio.inlined", "Ratio.polled"},
            Ratio::counted, Ratio::inlined, Ratio::polled);
        Truth.print();
    }
}
