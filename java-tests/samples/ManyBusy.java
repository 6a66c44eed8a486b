/** 200 threads that are busy at the same time, each with the same work. */
public class ManyBusy {
    static volatile double sink;

    static void work(int loops) {
        double x = 1;
        for (int i = 0; i < loops; i++) x = x * 1.0000001 + 0.5;
        sink = x;
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = new Thread[200];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> {
                for (int round = 0; round < 30; round++) work(400_000);
            });
        }
        for (Thread thread : threads) thread.start();
        for (Thread thread : threads) thread.join();
    }
}
