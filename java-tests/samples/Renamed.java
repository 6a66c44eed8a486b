/**
 * Known answer: each thread burns CPU in `burn` after it was renamed. `first-a` is `last-a` when it ends, before the program does;
 * `first-b` is `between-b` and then `last-b`, and lives on; `kept-c` was `between-c` for a moment.
 */
public class Renamed {
    static volatile double sink;

    static void burn() {
        long end = System.nanoTime() + 300_000_000;
        while (System.nanoTime() < end) {
            double x = 1;
            for (int i = 0; i < 100_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }
    }

    static Thread started(String name, String... names) {
        Thread thread = new Thread(() -> {
            for (String next : names) Thread.currentThread().setName(next);
            burn();
            if (name.equals("first-b")) {
                synchronized (Renamed.class) {
                    Renamed.class.notify();
                }
                while (true) Thread.onSpinWait();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    public static void main(String[] args) throws Exception {
        started("first-a", "last-a").join();
        started("kept-c", "between-c", "kept-c").join();
        synchronized (Renamed.class) {
            started("first-b", "between-b", "last-b");
            Renamed.class.wait();
        }
    }
}
