import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;

/**
 * Gives a profiler something of each kind: spin takes CPU time and allocates nothing, allocate makes arrays of 1000 bytes,
 * "holder" and main fight for a monitor of the class Recorded$Owned, and "parker" parks 10 times for 50 ms.
 */
public class Recorded {
    static final class Owned {}

    static final Owned owned = new Owned();
    static volatile Object kept;
    static long sum;

    static void spin(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end) {
            for (int i = 0; i < 1000; i++) {
                sum += i * 31;
            }
        }
    }

    static void allocate(int count) {
        List<byte[]> list = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            byte[] bytes = new byte[1000];
            kept = bytes;
            if (i % 100 == 0) {
                list.add(bytes);
            }
        }
        kept = list;
    }

    static void hold() {
        synchronized (owned) {
            LockSupport.parkNanos(60_000_000);
        }
    }

    static void holdOften() {
        for (int i = 0; i < 8; i++) {
            hold();
        }
    }

    static void park() {
        for (int i = 0; i < 10; i++) {
            LockSupport.parkNanos(50_000_000);
        }
    }

    public static void main(String[] args) throws Exception {
        Thread holder = new Thread(Recorded::holdOften, "holder");
        Thread parker = new Thread(Recorded::park, "parker");
        holder.start();
        parker.start();
        holdOften();
        for (int i = 0; i < 5; i++) {
            spin(200);
            allocate(200_000);
        }
        holder.join();
        parker.join();
        System.out.println("done");
    }
}
