import java.util.concurrent.locks.LockSupport;

/** One virtual thread works, another is parked and has no carrier. */
public class Mounted21 {
    static volatile boolean over;
    static volatile long sum;

    static void spins() {
        while (!over) {
            sum++;
        }
    }

    static void parks() {
        while (!over) {
            LockSupport.park();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread parks = Thread.ofVirtual().start(Mounted21::parks);
        Thread spins = Thread.ofVirtual().start(Mounted21::spins);
        Thread.sleep(1_500);
        over = true;
        LockSupport.unpark(parks);
        parks.join();
        spins.join();
    }
}
