import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;

/** What keeps objects alive: frames of two threads, a thread-local, a static, a weak and a soft reference, a monitor that is held. */
public class Roots {
    static class InMain { int mark = 4711; }
    static class InWorker { int mark = 4712; }
    static class PerThread { int mark = 4713; }
    static class Guarded { int mark = 4714; }
    static class Gone { int mark = 4715; }
    static class Weakly { int mark = 4716; }

    static final Guarded GUARDED = new Guarded();
    static final Weakly STRONG = new Weakly();
    static WeakReference<Object> weak = new WeakReference<>(STRONG);
    static WeakReference<Object> cleared = new WeakReference<>(new Gone());
    static SoftReference<Object> soft = new SoftReference<>(STRONG);
    static volatile boolean up, over;

    static void work() {
        InWorker local = new InWorker();
        ThreadLocal<Object> mine = new ThreadLocal<>();
        mine.set(new PerThread());
        synchronized (GUARDED) {
            up = true;
            while (!over) Thread.onSpinWait();
        }
        if (local.mark == 0 || mine.get() == null) throw new AssertionError();
    }

    public static void main(String[] args) throws Exception {
        Thread worker = new Thread(Roots::work, "worker of Roots");
        worker.start();
        while (!up) Thread.sleep(1);
        InMain local = new InMain();
        System.gc();
        Truth.ready();
        over = true;
        worker.join();
        if (local.mark == 0) throw new AssertionError();
        System.out.println("fact frame main Roots.main Roots$InMain");
        System.out.println("fact frame worker_of_Roots Roots.work Roots$InWorker");
        System.out.println("fact same Roots.weak.referent Roots.STRONG");
        System.out.println("fact same Roots.soft.referent Roots.STRONG");
        System.out.println("fact value Roots.cleared.referent null");
        System.out.println("fact value Roots.GUARDED.mark 4714");
        Truth.say("live_objects", "-", "Roots$InMain", 1);
        Truth.say("live_objects", "-", "Roots$InWorker", 1);
        Truth.say("live_objects", "-", "Roots$PerThread", 1);
        Truth.say("live_objects", "-", "Roots$Guarded", 1);
        Truth.say("live_objects", "-", "Roots$Weakly", 1);
        Truth.say("live_objects", "-", "Roots$Gone", 0);
    }
}
