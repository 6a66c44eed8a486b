/** Two threads that are busy until the file named by the argument is there. Prints `ready`. */
public class Overflow {
    static volatile double sink;
    static volatile boolean over;

    static void busy() {
        while (!over) {
            double x = 1;
            for (int i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread[] threads = {new Thread(Overflow::busy), new Thread(Overflow::busy)};
        for (Thread thread : threads) thread.start();
        System.out.println("ready");
        while (!new java.io.File(args[0]).exists()) Thread.sleep(20);
        over = true;
        for (Thread thread : threads) thread.join();
    }
}
