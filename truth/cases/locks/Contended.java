import java.util.concurrent.locks.ReentrantLock;

/**
 * One thread waits for a monitor, then for a ReentrantLock, a known number of times: the owner releases it only after it has seen that
 * the other waits. The time waited lies between the time that the owner kept it after that and the time that passed around the request.
 */
public class Contended {
    static final class Desk {}

    static final Desk MONITOR = new Desk();
    static final ReentrantLock LOCK = new ReentrantLock();
    static final int TIMES = 20;
    static final int HOLD_MILLIS = 25;
    static volatile int turn;
    static long wanted;
    static long held;

    static void wantMonitor() {
        long before = System.nanoTime();
        synchronized (MONITOR) {
            wanted += System.nanoTime() - before;
        }
    }

    static void wantLock() {
        long before = System.nanoTime();
        LOCK.lock();
        wanted += System.nanoTime() - before;
        LOCK.unlock();
    }

    /** Lets the other thread ask for the lock, waits until it is blocked or parked, and keeps the lock for a while. */
    static void hold(Thread other, Thread.State stuck, int number) throws InterruptedException {
        turn = number;
        while (other.getState() != stuck) Thread.sleep(1);
        long before = System.nanoTime();
        Thread.sleep(HOLD_MILLIS);
        held += System.nanoTime() - before;
    }

    /** Waits by sleeping: a thread that parked here might take the permit of another park. */
    static void await(int number) {
        try {
            while (turn < number) Thread.sleep(1);
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    static void holdMonitor(Thread other, int number) throws InterruptedException {
        synchronized (MONITOR) {
            hold(other, Thread.State.BLOCKED, number);
        }
    }

    static void holdLock(Thread other, int number) throws InterruptedException {
        LOCK.lock();
        try {
            hold(other, Thread.State.WAITING, number);
        } finally {
            LOCK.unlock();
        }
    }

    public static void main(String[] args) throws Exception {
        Thread monitor = new Thread(() -> { for (int i = 1; i <= TIMES; i++) { await(i); wantMonitor(); turn = -1; } }, "wants-monitor");
        monitor.start();
        for (int i = 1; i <= TIMES; i++) { holdMonitor(monitor, i); while (turn != -1) Thread.sleep(1); }
        monitor.join();
        long[] ofMonitor = {held, wanted};
        held = wanted = 0;
        Thread lock = new Thread(() -> { for (int i = 1; i <= TIMES; i++) { await(i); wantLock(); turn = -1; } }, "wants-lock");
        lock.start();
        for (int i = 1; i <= TIMES; i++) { holdLock(lock, i); while (turn != -1) Thread.sleep(1); }
        lock.join();
        Truth.ready();
        Truth.say("contentions", "Contended.wantMonitor", "Contended$Desk", TIMES);
        Truth.say("contentions", "Contended.holdMonitor", "Contended$Desk", 0);
        Truth.say("contended_ns", "Contended.wantMonitor", "Contended$Desk", ofMonitor[0], ofMonitor[1]);
        Truth.say("lock_waits", "Contended.wantLock", "-", TIMES);
        Truth.say("lock_ns", "Contended.wantLock", "-", held, wanted);
    }
}
