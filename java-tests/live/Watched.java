import java.io.File;
import java.util.ArrayList;
import java.util.List;

/**
 * Does the same over and over, until there is a file `end` in the working folder. Prints `ready` once it does.
 *
 * Truth: nearly all CPU time of the program's own threads is used in Watched.spin, which Watched.main calls. Nearly all
 * bytes are those of the byte arrays that Watched.allocate makes. The threads `first` and `second` want one object's monitor
 * in Watched.contend, and one of them waits for it nearly always.
 */
public class Watched {
    private static final Object DESK = new Object();
    private static final List<byte[]> KEPT = new ArrayList<>();
    static volatile Object made;
    static volatile double result;

    public static void main(String[] args) throws Exception {
        for (String name : new String[] {"first", "second"}) {
            Thread thread = new Thread(() -> {
                while (true) contend();
            }, name);
            thread.setDaemon(true);
            thread.start();
        }
        spin();
        System.out.println("ready");
        while (!new File("end").exists()) {
            spin();
            allocate();
        }
    }

    static void spin() {
        double sum = 0;
        for (int i = 0; i < 20_000_000; i++) sum += Math.sqrt(i);
        result = sum;
    }

    static void allocate() {
        for (int i = 0; i < 1_000; i++) made = new byte[2_000];
        KEPT.add(new byte[2_000]);
    }

    static void contend() {
        synchronized (DESK) {
            try {
                Thread.sleep(5);
            } catch (InterruptedException interrupted) {
                throw new IllegalStateException(interrupted);
            }
        }
    }
}
