package shop;

/** What the tests of the build take their time for. */
public class Prices {
    public static double total(int orders) {
        double sum = 0;
        for (int order = 0; order < orders; order++) sum += Math.sqrt(order) * Math.cbrt(order);
        return sum;
    }
}
