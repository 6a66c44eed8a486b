import java.io.File;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.channels.Selector;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/**
 * Each thread has the name of the one method in which it spends its time, and of what it does there:
 * <pre>
 *     sleeps   sleeping        parks   parked         waits   waiting, in Object.wait
 *     blocks   blocked         locks   parked         takes   parked
 *     acquires parked, for a Semaphore                joins   parked, for a CompletableFuture
 *     writes   parked, for a ReadWriteLock            awaits  parked, for a CountDownLatch
 *     reads    in a native call, on a socket          pipes   in a native call, on a pipe
 *     selects  in a native call, in Selector.select
 *     spins    running, or without a CPU
 *     turns    sleeping, a third of the time in one, two thirds in two
 * </pre>
 * A second argument leaves out the thread of that name. Prints what it measured itself: the CPU time of spins as a share of the time, and the share of two in turns.
 */
public class Waits {
    static final Object monitor = new Object();
    static final Object owned = new Object();
    static final ReentrantLock lock = new ReentrantLock();
    static final ReentrantReadWriteLock read = new ReentrantReadWriteLock();
    static CyclicBarrier beginning;
    static String leftOut = "";
    static volatile boolean over;
    static volatile long sum;

    interface Body {
        void run() throws Exception;
    }

    static Thread start(String name, Body body) {
        if (name.equals(leftOut)) {
            return null;
        }
        Thread thread = new Thread(() -> {
            try {
                beginning.await();
                body.run();
            } catch (Exception error) {
                error.printStackTrace();
            }
        }, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    static void sleeps() throws Exception {
        Thread.sleep(600_000);
    }

    static void parks() {
        for (;;) {
            LockSupport.park();
        }
    }

    static void waits() throws Exception {
        synchronized (monitor) {
            for (;;) {
                monitor.wait();
            }
        }
    }

    static void blocks() {
        synchronized (owned) {
            sum++;
        }
    }

    static void locks() {
        lock.lock();
    }

    static void takes() throws Exception {
        new LinkedBlockingQueue<String>().take();
    }

    static void acquires() throws Exception {
        new Semaphore(0).acquire();
    }

    static void joins() {
        new CompletableFuture<String>().join();
    }

    static void writes() {
        read.writeLock().lock();
    }

    static void awaits() throws Exception {
        new CountDownLatch(1).await();
    }

    static void selects() throws Exception {
        Selector.open().select();
    }

    static void reads(InputStream in) throws Exception {
        in.read();
    }

    static void pipes(InputStream in) throws Exception {
        in.read();
    }

    static void spins() {
        long begin = System.nanoTime();
        long cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
        while (!over) {
            sum++;
        }
        cpu = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpu;
        System.out.println("cpu " + (double) cpu / (System.nanoTime() - begin));
    }

    static void turns() throws Exception {
        long inTwo = 0, begin = System.nanoTime();
        while (!over) {
            one();
            long middle = System.nanoTime();
            two();
            inTwo += System.nanoTime() - middle;
        }
        System.out.println("two " + (double) inTwo / (System.nanoTime() - begin));
    }

    static void one() throws Exception {
        Thread.sleep(55);
    }

    static void two() throws Exception {
        Thread.sleep(110);
    }

    public static void main(String[] args) throws Exception {
        long millis = Long.parseLong(args[0]);
        leftOut = args.length > 1 ? args[1] : "";
        beginning = new CyclicBarrier(args.length > 1 ? 15 : 16);
        ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
        Socket client = new Socket(server.getInetAddress(), server.getLocalPort());
        Socket served = server.accept();
        // It says nothing before it has read something.
        boolean isWindows = File.separatorChar == '\\';
        Process cat = (isWindows ? new ProcessBuilder("cmd", "/c", "set /p line=") : new ProcessBuilder("cat")).start();
        lock.lock();
        read.readLock().lock();
        synchronized (owned) {
            start("sleeps", Waits::sleeps);
            start("parks", Waits::parks);
            start("waits", Waits::waits);
            start("blocks", Waits::blocks);
            start("locks", Waits::locks);
            start("takes", Waits::takes);
            start("acquires", Waits::acquires);
            start("joins", Waits::joins);
            start("writes", Waits::writes);
            start("awaits", Waits::awaits);
            start("selects", Waits::selects);
            start("reads", () -> reads(client.getInputStream()));
            start("pipes", () -> pipes(cat.getInputStream()));
            Thread spins = start("spins", Waits::spins);
            Thread turns = start("turns", Waits::turns);
            beginning.await();
            System.out.println("ready");
            Thread.sleep(millis);
            over = true;
            spins.join();
            turns.join();
        }
        cat.getOutputStream().close();
        served.close();
        Runtime.getRuntime().halt(0);
    }
}
