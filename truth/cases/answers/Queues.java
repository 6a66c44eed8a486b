import java.util.concurrent.locks.ReentrantLock;

/** Who waits for whom? A lock of java.util.concurrent that one method holds while another wants it, and a monitor likewise. */
// asks: locks
public final class Queues {
    private static final class Desk {}

    private static final ReentrantLock LOCK = new ReentrantLock();
    private static final Desk DESK = new Desk();

    static void hold(Thread[] wanting) throws InterruptedException {
        LOCK.lock();
        wanting[0].start();
        while (!LOCK.hasQueuedThreads()) Thread.sleep(1);
        Thread.sleep(700);
        LOCK.unlock();
    }

    static void occupy(Thread[] wanting) throws InterruptedException {
        synchronized (DESK) {
            wanting[1].start();
            while (wanting[1].getState() != Thread.State.BLOCKED) Thread.sleep(1);
            // A thread is blocked before the VM tells that it waits: 100 ms are for that.
            Thread.sleep(500);
        }
    }

    static void want() {
        LOCK.lock();
        LOCK.unlock();
    }

    static void enter() {
        synchronized (DESK) {
            Truth.kept = DESK;
        }
    }

    public static void main(String[] args) throws InterruptedException {
        long[] waited = new long[2];
        Thread[] wanting = {new Thread(() -> {
            long begin = System.nanoTime();
            want();
            waited[0] = System.nanoTime() - begin;
        }), new Thread(() -> {
            long begin = System.nanoTime();
            enter();
            waited[1] = System.nanoTime() - begin;
        })};
        hold(wanting);
        wanting[0].join();
        occupy(wanting);
        wanting[1].join();
        Truth.say("lock_ns", "Queues.want", "java.util.concurrent.locks.ReentrantLock$NonfairSync", 700_000_000L, waited[0]);
        Truth.say("lock_ns", "Queues.enter", "Queues$Desk", 400_000_000L, waited[1]);
        Truth.say("held_ns", "Queues.hold", "-", 700_000_000L, waited[0]);
        Truth.say("held_ns", "Queues.occupy", "-", 400_000_000L, waited[1]);
        Truth.say("contentions", "Queues.enter", "Queues$Desk", 1);
        Truth.say("contended_ns", "Queues.enter", "Queues$Desk", 400_000_000L, waited[1]);
    }
}
