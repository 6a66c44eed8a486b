import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.concurrent.CountDownLatch;

/**
 * Starts 400 threads, each of which makes one object at a depth of a few calls; all live at the same time. Prints the most
 * memory that the process has had, `peak N` in MB, when each has made its object.
 */
public class ManyThreads {
    static final int COUNT = 400;
    static volatile Object sink;

    public static void main(String[] args) throws Exception {
        CountDownLatch made = new CountDownLatch(COUNT);
        for (int i = 0; i < COUNT; i++) {
            Thread thread = new Thread(() -> {
                sink = new Object();
                made.countDown();
                try {
                    Thread.sleep(600_000);
                } catch (InterruptedException e) {
                    throw new AssertionError(e);
                }
            });
            thread.setDaemon(true);
            thread.start();
        }
        made.await();
        for (String line : Files.readAllLines(Paths.get("/proc/self/status"))) {
            if (line.startsWith("VmHWM:")) {
                System.out.println("peak " + Long.parseLong(line.replaceAll("\\D", "")) / 1024);
            }
        }
    }
}
