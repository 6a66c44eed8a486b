/**
 * Known answer: when it prints `ready`, `owner` has entered a Desk twice and sleeps in `own`, `first` and `second` want it,
 * in this order, in `want`, `waiter` waits in it in `await`; main sleeps. So it stays until `go` is in the folder, or the
 * program ends by a signal. When it prints `done`, all of them have had the Desk.
 */
public class Desk {
    static final Desk desk = new Desk();

    static void own() {
        synchronized (desk) {
            synchronized (desk) {
                try {
                    while (true) Thread.sleep(1_000_000);
                } catch (InterruptedException e) {
                    // Over.
                }
            }
        }
    }

    static void want() {
        synchronized (desk) {
            desk.notifyAll();
        }
    }

    static void await() {
        synchronized (desk) {
            try {
                desk.wait();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
        }
    }

    static Thread start(String name, Runnable body, Thread.State state) throws Exception {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
        while (thread.getState() != state) Thread.sleep(1);
        return thread;
    }

    public static void main(String[] args) throws Exception {
        Thread waiter = start("waiter", Desk::await, Thread.State.WAITING);
        Thread owner = start("owner", Desk::own, Thread.State.TIMED_WAITING);
        Thread first = start("first", Desk::want, Thread.State.BLOCKED);
        Thread second = start("second", Desk::want, Thread.State.BLOCKED);
        System.out.println("ready");
        while (!new java.io.File("go").exists()) Thread.sleep(20);
        owner.interrupt();
        for (Thread thread : new Thread[] {waiter, first, second}) thread.join();
        System.out.println("done");
    }
}
