import java.util.concurrent.CyclicBarrier;

/** So many threads sleep, each under its own name, in one method; the last of them has work to do now and then. */
public class Sleepers {
    static volatile long sum;

    static void sleeps() throws Exception {
        Thread.sleep(600_000);
    }

    static void works() throws Exception {
        for (;;) {
            for (int i = 0; i < 100_000; i++) {
                sum += i;
            }
            Thread.sleep(7);
        }
    }

    public static void main(String[] args) throws Exception {
        int threads = Integer.parseInt(args[0]);
        CyclicBarrier beginning = new CyclicBarrier(threads + 1);
        for (int i = 0; i < threads; i++) {
            boolean isLast = i == threads - 1;
            Thread thread = new Thread(null, () -> {
                try {
                    beginning.await();
                    if (isLast) {
                        works();
                    }
                    sleeps();
                } catch (Exception error) {
                    error.printStackTrace();
                }
            }, isLast ? "works" : "sleeps " + i, 128 << 10);
            thread.setDaemon(true);
            thread.start();
        }
        beginning.await();
        Thread.sleep(Long.parseLong(args[1]));
    }
}
