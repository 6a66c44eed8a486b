/**
 * Known answer: when it prints `ready`, the virtual thread `owner` has entered a DeskVirtual21 and sleeps, the virtual
 * threads `first` and `second` and the platform thread `third` want it, the virtual thread `waiter` waits in it. So it
 * stays until `go` is in the folder. With the argument `waited`, `owner` has waited in the DeskVirtual21 before. Needs Java
 * 21, and four carriers where virtual threads cannot leave theirs.
 */
public class DeskVirtual21 {
    static final DeskVirtual21 desk = new DeskVirtual21();

    static boolean waits;
    static volatile boolean owned;

    static void own() {
        synchronized (desk) {
            try {
                if (waits) desk.wait(1);
                owned = true;
                while (true) Thread.sleep(1_000_000);
            } catch (InterruptedException e) {
                // Over.
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

    static Thread start(Thread.Builder builder, String name, Runnable body, Thread.State state) throws Exception {
        Thread thread = builder.name(name).start(body);
        while (thread.getState() != state) Thread.sleep(1);
        return thread;
    }

    public static void main(String[] args) throws Exception {
        waits = args.length > 0 && args[0].equals("waited");
        Thread waiter = start(Thread.ofVirtual(), "waiter", DeskVirtual21::await, Thread.State.WAITING);
        Thread owner = start(Thread.ofVirtual(), "owner", DeskVirtual21::own, Thread.State.TIMED_WAITING);
        while (!owned || owner.getState() != Thread.State.TIMED_WAITING) Thread.sleep(1);
        Thread[] wanting = {
            start(Thread.ofVirtual(), "first", DeskVirtual21::want, Thread.State.BLOCKED),
            start(Thread.ofVirtual(), "second", DeskVirtual21::want, Thread.State.BLOCKED),
            start(Thread.ofPlatform(), "third", DeskVirtual21::want, Thread.State.BLOCKED),
        };
        System.out.println("ready");
        while (!new java.io.File("go").exists()) Thread.sleep(20);
        owner.interrupt();
        for (Thread thread : wanting) thread.join();
        waiter.join();
        System.out.println("done");
    }
}
