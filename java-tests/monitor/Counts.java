/**
 * Known answer: a thread has to wait for a monitor of class Counts$Desk exactly 60 times in `enter` (20 rounds of three
 * threads that are all blocked before main leaves it), and for one of class Counts$Chair exactly once in `sit`. Nobody
 * ever waits for one of class Counts$Idle. Prints `done`.
 */
public class Counts {
    static final class Desk {}
    static final class Chair {}
    static final class Idle {}

    static int entered;

    static void enter(Desk desk) {
        synchronized (desk) {
            entered++;
        }
    }

    static void sit(Chair chair) {
        synchronized (chair) {
            entered++;
        }
    }

    static Thread blocked(String name, Runnable body) throws Exception {
        Thread thread = new Thread(body, name);
        thread.start();
        while (thread.getState() != Thread.State.BLOCKED) Thread.sleep(1);
        return thread;
    }

    public static void main(String[] args) throws Exception {
        Desk desk = new Desk();
        for (int round = 0; round < 20; round++) {
            Thread[] threads = new Thread[3];
            synchronized (desk) {
                for (int i = 0; i < threads.length; i++) threads[i] = blocked("enter-" + i, () -> enter(desk));
            }
            for (Thread thread : threads) thread.join();
        }
        Chair chair = new Chair();
        Thread thread;
        synchronized (chair) {
            thread = blocked("sit", () -> sit(chair));
        }
        thread.join();
        Idle idle = new Idle();
        for (int i = 0; i < 1_000_000; i++) {
            synchronized (idle) {
                entered++;
            }
        }
        System.out.println("done");
    }
}
