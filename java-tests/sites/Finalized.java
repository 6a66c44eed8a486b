import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Objects with finalizers. Known answer: of 500 `Finalized$Gone` all are finalized and dead; 300 `Finalized$Risen`
 * are dropped, and their finalizers bring them back: all live; 100 `Finalized$Held` are never dropped: all live; then
 * the finalizer of one `Finalized$Blocker` keeps the finalizer thread for itself, so that 200 `Finalized$Waiting` and
 * the blocker are dropped, but not finalized yet: all live. Prints `gone 500`, `risen 300`, `waiting 0` (the
 * finalizers that have run).
 */
@SuppressWarnings({"deprecation", "removal"})
public class Finalized {
    static final AtomicInteger GONE = new AtomicInteger();
    static final AtomicInteger RISEN = new AtomicInteger();
    static final AtomicInteger WAITED = new AtomicInteger();
    static final CountDownLatch BLOCKED = new CountDownLatch(1);
    static final Object[] BACK = new Object[300];
    static final Object[] KEEP = new Object[100];

    static class Gone {
        @Override protected void finalize() { GONE.incrementAndGet(); }
    }

    static class Risen {
        @Override protected void finalize() { BACK[RISEN.getAndIncrement()] = this; }
    }

    static class Held {
        @Override protected void finalize() { throw new IllegalStateException("it was never dropped"); }
    }

    static class Waiting {
        @Override protected void finalize() { WAITED.incrementAndGet(); }
    }

    static class Blocker {
        @Override protected void finalize() throws Exception {
            BLOCKED.countDown();
            Thread.sleep(Long.MAX_VALUE);
        }
    }

    static void gone() { for (int i = 0; i < 500; i++) new Gone(); }
    static void risen() { for (int i = 0; i < 300; i++) new Risen(); }
    static void held() { for (int i = 0; i < 100; i++) KEEP[i] = new Held(); }
    static void waiting() { for (int i = 0; i < 200; i++) new Waiting(); }
    static void blocker() { new Blocker(); }

    public static void main(String[] args) throws Exception {
        gone();
        risen();
        held();
        while (GONE.get() < 500 || RISEN.get() < 300) {
            System.gc();
            System.runFinalization();
        }
        blocker();
        while (BLOCKED.getCount() > 0) {
            System.gc();
            Thread.sleep(10);
        }
        waiting();
        System.gc();
        System.out.println("gone " + GONE.get());
        System.out.println("risen " + RISEN.get());
        System.out.println("waiting " + WAITED.get());
    }
}
