/**
 * Fills the heap, empties it and fills it in part. Known answer: alive at the peak, which is after the second
 * collection, are 30,000 `$Early` and 60,000 `$High`; at the end 20,000 `$Late`.
 */
public class Peak {
    static class Early { long a, b; }
    static class High { long a, b; }
    static class Late { long a, b; }
    static class Garbage { long a; }

    static Object[] early = new Object[30_000];
    static Object[] high = new Object[60_000];
    static Object[] late = new Object[20_000];
    static volatile Object sink;

    static void collect() throws Exception {
        for (int i = 0; i < 100; i++) sink = new Garbage();
        sink = null;
        System.gc();
        Thread.sleep(400);
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < early.length; i++) early[i] = new Early();
        collect();
        for (int i = 0; i < high.length; i++) high[i] = new High();
        collect();
        early = null;
        high = null;
        collect();
        for (int i = 0; i < late.length; i++) late[i] = new Late();
        collect();
        System.out.println("done");
    }
}
