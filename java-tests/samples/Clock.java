/**
 * Known answer: nearly all of its time is spent in C code of the VM that `ask` calls for the time. Compiled code calls it without a
 * frame of its own, and without leaving word of its own last frame.
 */
public class Clock {
    static long ask() {
        long sum = 0;
        for (int i = 0; i < 1_000_000; i++) sum += System.nanoTime();
        return sum;
    }

    public static void main(String[] args) {
        long sum = 0;
        for (int i = 0; i < 20; i++) sum += ask();
        if (sum == 0) System.out.println("no time");
    }
}
