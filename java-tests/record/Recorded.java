import java.io.File;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Does what its arguments say, one after the other, and ends with the status 3.
 *
 * Truth: `print:TEXT` prints TEXT. `busy:N` uses N ms of CPU time in Recorded.busy. `wait` prints `ready`, then stays in
 * Recorded.busy until there is a file `end` in the working folder. `child:N` runs another JVM with `busy:N`, and waits for
 * it. `rest:N` sleeps N ms in Recorded.rest. `lock:N` has a thread hold a ReentrantLock for N ms in Recorded.hold, and waits for it in
 * Recorded.want. `tree:N` has Recorded.left and Recorded.right call each other and compute, with 2 to the power of N stacks. `pid` prints its
 * process id. `killed` ends by SIGKILL.
 */
public class Recorded {
    static volatile double result;

    public static void main(String[] args) throws Exception {
        for (String arg : args) {
            int colon = arg.indexOf(':');
            String value = arg.substring(colon + 1);
            switch (colon < 0 ? arg : arg.substring(0, colon)) {
                case "print": System.out.println(value); break;
                case "busy": busy(Integer.parseInt(value)); break;
                case "wait": {
                    System.out.println("ready");
                    while (!new File("end").exists()) busy(50);
                    break;
                }
                case "rest": rest(Integer.parseInt(value)); break;
                case "lock": want(Integer.parseInt(value)); break;
                case "tree": {
                    for (int round = 0; round < 3; round++) left(Integer.parseInt(value));
                    break;
                }
                case "child": child("busy:" + value); break;
                case "pid": System.out.println(ProcessHandle.current().pid()); break;
                case "killed": {
                    new ProcessBuilder("kill", "-9", "" + ProcessHandle.current().pid()).start();
                    Thread.sleep(60_000);
                    break;
                }
                default: throw new IllegalArgumentException(arg);
            }
        }
        System.exit(3);
    }

    static void busy(int millis) {
        ThreadMXBean threads = ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + millis * 1_000_000L;
        while (threads.getCurrentThreadCpuTime() < end) {
            double sum = 0;
            for (int i = 0; i < 200_000; i++) sum += Math.sqrt(i);
            result = sum;
        }
    }

    static void rest(int millis) throws InterruptedException {
        Thread.sleep(millis);
    }

    static void left(int levels) {
        double sum = 0;
        for (int i = 0; i < 200; i++) sum = sum * 0.5 + i;
        result = sum;
        if (levels > 0) {
            left(levels - 1);
            right(levels - 1);
        }
    }

    static void right(int levels) {
        double sum = 0;
        for (int i = 0; i < 200; i++) sum = sum * 0.25 + i;
        result = sum;
        if (levels > 0) {
            left(levels - 1);
            right(levels - 1);
        }
    }

    static void want(int millis) throws InterruptedException {
        ReentrantLock lock = new ReentrantLock();
        CountDownLatch held = new CountDownLatch(1);
        Thread holder = new Thread(() -> hold(lock, held, millis));
        holder.start();
        held.await();
        lock.lock();
        lock.unlock();
        holder.join();
    }

    static void hold(ReentrantLock lock, CountDownLatch held, int millis) {
        lock.lock();
        try {
            held.countDown();
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    static void child(String arg) throws Exception {
        List<String> command = new ArrayList<>();
        command.add(System.getProperty("java.home") + "/bin/java");
        command.add("-cp");
        command.add(System.getProperty("java.class.path"));
        command.add("Recorded");
        command.add(arg);
        new ProcessBuilder(command).inheritIO().start().waitFor();
    }
}
