/**
 * Has the VM repair 20,000 accesses through null, of which the interpreter learns by SIGSEGV, and 40 overflows of the stack, of which all code
 * does, on each of two threads. It counts them.
 */
public class Faults {
    int field;
    static int deepest;

    static int read(Faults from) {
        return from.field;
    }

    static int fall(int depth) {
        deepest = Math.max(deepest, depth);
        return fall(depth + 1) + 1;
    }

    static void count(String name) {
        int nulls = 0, overflows = 0;
        for (int i = 0; i < 20_000; i++) {
            try {
                read(i % 2 == 0 ? null : new Faults());
                read(null);
            } catch (NullPointerException expected) {
                nulls++;
            }
        }
        for (int i = 0; i < 40; i++) {
            try {
                fall(0);
            } catch (StackOverflowError expected) {
                overflows++;
            }
        }
        System.out.println(name + ": " + nulls + " nulls, " + overflows + " overflows");
    }

    public static void main(String[] arguments) throws Exception {
        Thread other = new Thread(null, () -> count("other"), "other", 256 << 10);
        other.start();
        other.join();
        Thread one = new Thread(null, () -> count("one"), "one", 256 << 10);
        one.start();
        one.join();
    }
}
