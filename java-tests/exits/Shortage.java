import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;

/**
 * Does some of everything that an agent is told of, for as many milliseconds as the argument says: objects that die and that stay, threads that
 * come and go and contend for a monitor, deep stacks, new classes.
 *
 * Known answer: it prints `done` and ends well, whatever memory the agent gets.
 */
public class Shortage {
    static final List<Object> KEPT = new ArrayList<>();

    static int deep(int depth) {
        return depth == 0 ? new byte[16].length : deep(depth - 1) + 1;
    }

    static void newClass() {
        ClassLoader own = new ClassLoader(Shortage.class.getClassLoader()) {};
        Object made = Proxy.newProxyInstance(own, new Class<?>[] {Runnable.class}, (proxy, method, arguments) -> null);
        ((Runnable) made).run();
    }

    static void work(int round) {
        for (int i = 0; i < 200; i++) {
            Object made = new int[] {i};
            synchronized (KEPT) {
                if (i % 20 == 0 && KEPT.size() < 200_000) {
                    KEPT.add(made);
                }
            }
        }
        deep(round % 300);
        newClass();
    }

    public static void main(String[] args) throws Exception {
        long end = System.nanoTime() + 1_000_000L * Integer.parseInt(args[0]);
        System.out.println("begun");
        for (int round = 0; System.nanoTime() < end; round++) {
            Thread[] threads = new Thread[4];
            for (int i = 0; i < threads.length; i++) {
                int own = round;
                threads[i] = new Thread(() -> work(own));
                threads[i].start();
            }
            for (Thread thread : threads) {
                thread.join();
            }
        }
        System.out.println("done");
    }
}
