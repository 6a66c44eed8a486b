import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * 40 virtual threads wait for a lock while `holds` has it, three of four of them in `mostly`, the others in `partly`. Prints
 * how long they waited, in ms, all added up.
 */
public class Parked21 {
    static final ReentrantLock lock = new ReentrantLock();
    static long waited;

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        lock.lock();
        for (int i = 0; i < 40; i++) {
            threads.add(Thread.ofVirtual().start(i % 4 > 0 ? Parked21::mostly : Parked21::partly));
        }
        holds();
        lock.unlock();
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("waited_ms " + waited / 1_000_000);
    }

    static void holds() throws InterruptedException {
        Thread.sleep(2_000);
    }

    static void mostly() {
        long began = System.nanoTime();
        lock.lock();
        waited += System.nanoTime() - began;
        lock.unlock();
    }

    static void partly() {
        long began = System.nanoTime();
        lock.lock();
        waited += System.nanoTime() - began;
        lock.unlock();
    }
}
