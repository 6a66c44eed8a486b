/**
 * 200 threads that run at once, and 2000 short ones after each other. Known answer: `work` 200 * 1000 + 2000 times, 1000 in
 * each thread called `long-N`; `shorty` 2000 times.
 */
public class Threads {
    static volatile long sink;

    static void work(int n) { sink = sink * 31 + n; }
    static void many() { for (int i = 0; i < 1000; i++) work(i); }
    static void shorty() { work(7); }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[200];
        for (int i = 0; i < threads.length; i++) threads[i] = new Thread(Threads::many, "long-" + i);
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
        for (int i = 0; i < 2000; i++) {
            Thread thread = new Thread(Threads::shorty, "short");
            thread.start();
            thread.join();
        }
        System.out.println("done");
    }
}
