import java.io.File;

/**
 * Does what its arguments say, one after the other, each when there is a file of its number (`go1`, `go2`, ...) in the
 * working folder; says `done 1`, `done 2`, ... after each. Ends, with `end`, when there is a file `end`.
 *
 * Truth, for each step: `make:N` makes N objects of Steps$Thing in Steps.make, on main; all stay alive until the next
 * `make`. `thread:N` does so on a new thread. `mixed:N` makes N Steps$Thing and N arrays of them, of 0 to 700 elements, in
 * Steps.mixed, and keeps none. `busy:N` uses N ms of CPU time in Steps.busy. `load:N` starts N threads that allocate, and
 * start other threads, until the program ends.
 */
public class Steps {
    static class Thing {
        int number;
    }

    static Thing[] kept;
    static volatile Object sink;
    static volatile double result;

    static void make(int count) {
        kept = new Thing[count];
        for (int i = 0; i < count; i++) {
            kept[i] = new Thing();
        }
    }

    static void mixed(int count) {
        for (int i = 0; i < count; i++) {
            sink = new Thing();
            sink = new Thing[i * 13 % 701];
        }
    }

    static void busy(int millis) {
        java.lang.management.ThreadMXBean threads = java.lang.management.ManagementFactory.getThreadMXBean();
        long end = threads.getCurrentThreadCpuTime() + millis * 1_000_000L;
        while (threads.getCurrentThreadCpuTime() < end) {
            burn();
        }
    }

    static void burn() {
        double sum = 0;
        for (int i = 0; i < 200_000; i++) {
            sum += Math.sqrt(i);
        }
        result = sum;
    }

    static void load() {
        try {
            while (true) {
                for (int i = 0; i < 1_000; i++) {
                    sink = new byte[i];
                }
                Thread shortLived = new Thread(() -> sink = new Object());
                shortLived.start();
                shortLived.join();
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    static void start(int count) {
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(Steps::load, "load " + i);
            thread.setDaemon(true);
            thread.start();
        }
    }

    static void step(String what, int count) throws InterruptedException {
        switch (what) {
            case "make":
                make(count);
                break;
            case "thread":
                Thread thread = new Thread(() -> make(count));
                thread.start();
                thread.join();
                break;
            case "mixed":
                mixed(count);
                break;
            case "busy":
                busy(count);
                break;
            case "load":
                start(count);
                break;
            default:
                throw new IllegalArgumentException(what);
        }
    }

    static void waitFor(String name) throws InterruptedException {
        File file = new File(name);
        while (!file.exists()) {
            Thread.sleep(5);
        }
    }

    public static void main(String[] steps) throws InterruptedException {
        System.out.println("ready");
        for (int i = 0; i < steps.length; i++) {
            waitFor("go" + (i + 1));
            String[] step = steps[i].split(":");
            step(step[0], Integer.parseInt(step[1]));
            System.out.println("done " + (i + 1));
        }
        waitFor("end");
        System.out.println("end");
    }
}
