import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.Selector;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * A thread for each place where threads wait, each in its place for a time of its own, which it measures. What ends the waits is another
 * thread, a place after the other.
 */
public class Places {
    interface Wait { void run() throws Exception; }

    static final Object BELL = new Object();
    static final Object OWNED = new Object();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final ReentrantReadWriteLock READ = new ReentrantReadWriteLock();
    static final Semaphore PERMITS = new Semaphore(0);
    static final LinkedBlockingQueue<String> QUEUE = new LinkedBlockingQueue<>();
    static final CompletableFuture<String> FUTURE = new CompletableFuture<>();
    static final CountDownLatch LATCH = new CountDownLatch(1);
    static final CountDownLatch BEGIN = new CountDownLatch(1);
    static volatile boolean over;

    static void sleeps() throws Exception { Thread.sleep(Truth.scaled(3_000)); }
    static void parks() { while (!over) LockSupport.park(); }
    static void waits() throws Exception { synchronized (BELL) { while (!over) BELL.wait(); } }
    static void blocks() { synchronized (OWNED) { Truth.sink = 1; } }
    static void locks() { LOCK.lock(); LOCK.unlock(); }
    static void writes() { READ.writeLock().lock(); READ.writeLock().unlock(); }
    static void acquires() throws Exception { PERMITS.acquire(); }
    static void takes() throws Exception { QUEUE.take(); }
    static void joins() { FUTURE.join(); }
    static void awaits() throws Exception { LATCH.await(); }
    static void reads(InputStream socket) throws Exception { socket.read(); }
    static void pipes(InputStream pipe) throws Exception { pipe.read(); }
    static void selects(Selector selector) throws Exception { selector.select(); }

    static final StringBuffer KNOWN = new StringBuffer();

    static Thread start(String name, String state, Wait wait) {
        Thread thread = new Thread(() -> {
            try {
                BEGIN.await();
                long before = System.nanoTime();
                wait.run();
                long nanos = System.nanoTime() - before;
                KNOWN.append("truth wall Places." + name + " - " + nanos + "\ntruth state Places." + name + " " + state + " " + nanos
                    + "\ntruth awake Places." + name + " asleep " + nanos + "\n");
            } catch (Exception error) {
                throw new IllegalStateException(error);
            }
        }, name);
        thread.start();
        return thread;
    }

    /** Lets a thread stay where it is for another twelfth of the time. */
    static void pause() throws Exception { Thread.sleep(Truth.scaled(250)); }

    public static void main(String[] args) throws Exception {
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket served = server.accept();
        Process cat = new ProcessBuilder("cat").start();
        OutputStream toCat = cat.getOutputStream();
        Selector selector = Selector.open();
        LOCK.lock();
        READ.readLock().lock();
        Thread[] threads;
        synchronized (OWNED) {
            threads = new Thread[] {
                start("sleeps", "sleeping", Places::sleeps),
                start("parks", "parked", Places::parks),
                start("waits", "waiting", Places::waits),
                start("blocks", "blocked", Places::blocks),
                start("locks", "parked", Places::locks),
                start("writes", "parked", Places::writes),
                start("acquires", "parked", Places::acquires),
                start("takes", "parked", Places::takes),
                start("joins", "parked", Places::joins),
                start("awaits", "parked", Places::awaits),
                start("reads", "native", () -> reads(client.getInputStream())),
                start("pipes", "native", () -> pipes(cat.getInputStream())),
                start("selects", "native", () -> selects(selector)),
            };
            BEGIN.countDown();
            for (int i = 0; i < 4; i++) pause();
            LOCK.unlock();
            pause();
            READ.readLock().unlock();
            pause();
            PERMITS.release();
            pause();
            QUEUE.add("");
            pause();
            FUTURE.complete("");
            pause();
            LATCH.countDown();
            pause();
        }
        selector.wakeup();
        pause();
        served.getOutputStream().write(1);
        pause();
        toCat.write(1);
        toCat.flush();
        over = true;
        synchronized (BELL) { BELL.notifyAll(); }
        LockSupport.unpark(threads[1]);
        for (Thread thread : threads) thread.join();
        toCat.close();
        Truth.ready();
        System.out.print(KNOWN);
    }
}
