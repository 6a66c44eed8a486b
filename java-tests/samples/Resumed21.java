/**
 * Known answer: a virtual thread waits 200 calls of `outer` deep and goes on there, so that most of them are left in the heap
 * while it spins in `spin`, for as many milliseconds as the argument says, or longer if it has got little CPU by then. Prints
 * `resumed`. Needs Java 21.
 */
public class Resumed21 {
    static volatile double sink;

    static void outer(int calls, long millis) throws InterruptedException {
        if (calls > 0) {
            outer(calls - 1, millis);
            return;
        }
        Thread.sleep(10);
        spin(millis);
    }

    static void spin(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        for (int round = 0; round < 150 || System.nanoTime() < end; round++) {
            double x = 1;
            for (int i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }
    }

    public static void main(String[] args) throws Exception {
        Thread thread = Thread.ofVirtual().start(() -> {
            try {
                outer(200, Long.parseLong(args[0]));
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        });
        thread.join();
        System.out.println("resumed");
    }
}
