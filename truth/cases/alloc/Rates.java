/** Threads that allocate at rates of 1 : 2 : 4 at the same time, all in the same method. */
public class Rates {
    static class Piece { int number; }

    static void make(int n) {
        Object[] last = new Object[256];
        for (int i = 0; i < n; i++) last[i & 255] = new Piece();
        Truth.kept = last;
    }

    public static void main(String[] args) throws Exception {
        Truth.load();
        int[] rates = {1, 2, 4};
        Thread[] threads = new Thread[rates.length];
        for (int i = 0; i < rates.length; i++) {
            int n = rates[i] * 50_000;
            threads[i] = new Thread(() -> make(n), "rate-" + rates[i]);
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        Truth.ready();
        for (int rate : rates) Truth.allocated("thread:rate-" + rate, "Rates$Piece", rate * 50_000L, Truth.object(4, 0));
        Truth.allocated("Rates.make", "Rates$Piece", 350_000, Truth.object(4, 0));
    }
}
