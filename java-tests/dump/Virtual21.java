import java.io.File;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/**
 * Parks a virtual thread whose frame of {@code hold} alone keeps a `Virtual21$Held`, prints `ready` and goes on when there
 * is a file `go`. Known answer: the mark in that object is 4713.
 */
public class Virtual21 {
    static class Held { int mark = 4713; }

    static volatile boolean over;

    static void hold(CountDownLatch holds) {
        Held held = new Held();
        holds.countDown();
        while (!over) LockSupport.park();
        if (held.mark != 4713) throw new AssertionError();
    }

    public static void main(String[] args) throws Exception {
        CountDownLatch holds = new CountDownLatch(1);
        Thread thread = Thread.ofVirtual().name("parked").start(() -> hold(holds));
        holds.await();
        while (thread.getState() != Thread.State.WAITING) Thread.sleep(5);
        System.out.println("ready");
        File go = new File("go");
        while (!go.exists()) Thread.sleep(20);
        over = true;
        LockSupport.unpark(thread);
        thread.join();
        System.out.println("done");
    }
}
