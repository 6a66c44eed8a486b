import java.util.ArrayList;
import java.util.List;

/**
 * Keeps what it makes, on a thread that makes little.
 *
 * Truth: keeps 100 arrays of 1 MB each, made in Slow.keep, and then prints `kept` and sleeps until it is killed. With `sample=512k` fewer
 * than 256 of its objects are sampled.
 */
public class Slow {
    static final List<byte[]> kept = new ArrayList<>();

    public static void main(String[] args) throws InterruptedException {
        for (int i = 0; i < 100; i++) keep();
        System.out.println("kept");
        Thread.sleep(600_000);
    }

    static void keep() {
        kept.add(new byte[1_000_000]);
    }
}
