/**
 * Known answer: eight threads enter one monitor 1,000,000 times each (or as often as the argument says), for a short while
 * and with as much work outside of it. Prints `entered <eight times that number>`.
 */
public class Busy {
    static final Object lock = new Object();
    static long entered;

    static int work(int seed) {
        int x = seed;
        for (int i = 0; i < 400; i++) x = x * 1_103_515_245 + 12_345;
        return x;
    }

    public static void main(String[] args) throws Exception {
        int rounds = args.length > 0 ? Integer.parseInt(args[0]) : 1_000_000;
        int[] sinks = new int[8];
        Thread[] threads = new Thread[8];
        for (int t = 0; t < threads.length; t++) {
            int own = t;
            threads[t] = new Thread(() -> {
                for (int i = 0; i < rounds; i++) {
                    synchronized (lock) {
                        sinks[own] += work(i);
                        entered++;
                    }
                    sinks[own] += work(-i);
                }
            }, "busy-" + t);
            threads[t].start();
        }
        for (Thread thread : threads) thread.join();
        System.out.println("entered " + entered);
    }
}
