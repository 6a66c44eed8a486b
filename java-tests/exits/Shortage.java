import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Does some of everything that an agent is told of: objects that die and that stay, threads that come and go and contend for a monitor, deep
 * stacks, new classes. Arguments: the number of rounds, and optionally a file that must exist before the first of these, until which there are
 * more.
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

    static void round(int round) throws InterruptedException {
        Thread[] threads = new Thread[4];
        for (int i = 0; i < threads.length; i++) {
            threads[i] = new Thread(() -> work(round));
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        System.out.println("begun");
        int round = 0;
        while (args.length > 1 && !Files.exists(Path.of(args[1]))) {
            round(round++);
        }
        for (int end = round + Integer.parseInt(args[0]); round < end; round++) {
            round(round);
        }
        System.out.println("done");
    }
}
