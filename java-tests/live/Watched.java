import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does the same over and over, until there is a file `end` in the working folder. Prints `ready` once it does.
 *
 * Truth: nearly all CPU time of the program's own threads is used in Watched.spin, which Watched.main calls. Nearly all
 * bytes are those of the byte arrays that Watched.allocate makes. The threads `first` and `second` want one object's monitor
 * in Watched.contend, and one of them waits for it nearly always; so do `third` and `fourth` for a ReentrantLock, in
 * Watched.share.
 */
public class Watched {
    private static final Object DESK = new Object();
    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final List<byte[]> KEPT = new ArrayList<>();
    static volatile Object made;
    static volatile double result;

    public static void main(String[] args) throws Exception {
        begin("first", Watched::contend);
        begin("second", Watched::contend);
        begin("third", Watched::share);
        begin("fourth", Watched::share);
        spin();
        System.out.println("ready");
        while (!new File("end").exists()) {
            spin();
            allocate();
        }
    }

    static void begin(String name, Runnable body) {
        Thread thread = new Thread(() -> {
            while (true) body.run();
        }, name);
        thread.setDaemon(true);
        thread.start();
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
            pause();
        }
    }

    static void share() {
        LOCK.lock();
        try {
            pause();
        } finally {
            LOCK.unlock();
        }
    }

    static void pause() {
        try {
            Thread.sleep(5);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }
}
