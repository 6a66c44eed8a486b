import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;

/**
 * Uses CPU time in a method with next to no calls and in one with many, and prints what the thread's clock says around each, in
 * milliseconds: `burn MS`, `fib MS`; and of `burn` what it says within: `within MS`. `fib` is called 1,028,457 times.
 */
public class Costs {
    static final ThreadMXBean BEAN = ManagementFactory.getThreadMXBean();
    static volatile double sink;

    static double within;

    static void burn() {
        long before = BEAN.getCurrentThreadCpuTime();
        double x = 1;
        for (int i = 0; i < 100_000_000; i++) x = x * 1.0000001 + 0.5;
        sink = x;
        within = (BEAN.getCurrentThreadCpuTime() - before) / 1e6;
    }
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
    static void calls() { sink = fib(28); }

    static double time(Runnable work) {
        long before = BEAN.getCurrentThreadCpuTime();
        work.run();
        return (BEAN.getCurrentThreadCpuTime() - before) / 1e6;
    }

    public static void main(String[] args) {
        double burn = time(Costs::burn), fib = time(Costs::calls);
        System.out.println("burn " + burn);
        System.out.println("within " + within);
        System.out.println("fib " + fib);
    }
}
