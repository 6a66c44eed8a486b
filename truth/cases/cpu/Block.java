import java.util.concurrent.locks.LockSupport;

/** Two busy threads, 2 : 1, beside 13 that are blocked, parked, asleep, waiting, or in a native accept. */
public class Block {
    static final Object HELD = new Object();
    static final Object NOTIFIED = new Object();

    static void left() {
        double x = 1;
        for (int i = 0; i < 2_000_000; i++) x = x * 1.0000001 + 0.5;
        Truth.sink = x;
    }

    static void right() {
        double x = 1;
        for (int i = 0; i < 2_000_000; i++) x = x * 1.0000001 + 0.5;
        Truth.sink = x;
    }

    static void idle(int number) {
        try {
            switch (number % 5) {
                case 0: Thread.sleep(600_000); break;
                case 1: while (true) LockSupport.park();
                case 2: synchronized (NOTIFIED) { NOTIFIED.wait(); } break;
                case 3: new java.net.ServerSocket(0).accept(); break;
                default: synchronized (HELD) { Thread.sleep(600_000); } break;
            }
        } catch (Exception e) {
            throw new IllegalStateException(e);
        }
    }

    public static void main(String[] args) throws Exception {
        synchronized (HELD) {
            for (int i = 0; i < 13; i++) {
                int number = i;
                Thread idle = new Thread(() -> idle(number), "idle-" + i);
                idle.setDaemon(true);
                idle.start();
            }
            Thread left = new Thread(() -> Truth.run(4_000, new String[] {"Block.left"}, Block::left));
            Thread right = new Thread(() -> Truth.run(2_000, new String[] {"Block.right"}, Block::right));
            left.start();
            right.start();
            left.join();
            right.join();
        }
        Truth.print();
    }
}
