import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicReference;

/** What a library says of a file: an exception means that it is refused, and an answer that does not come is a hang. */
final class Verdict {
    private Verdict() {}

    static void print(String file, Callable<Long> count) throws InterruptedException {
        AtomicReference<String> said = new AtomicReference<>("failed it hung");
        Thread reader = new Thread(() -> said.set(verdict(count)));
        reader.setDaemon(true);
        reader.start();
        reader.join(20_000);
        System.out.println("verdict " + file + " " + said.get());
    }

    private static String verdict(Callable<Long> count) {
        try {
            return "sound " + count.call();
        } catch (OutOfMemoryError | StackOverflowError error) {
            return "failed " + error.getClass().getSimpleName();
        } catch (Throwable error) {
            return "broken " + String.valueOf(error).replaceAll("\\s+", " ");
        }
    }
}
