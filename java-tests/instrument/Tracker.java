/** Counts the calls, and keeps a stack of the methods that are running, as the agent does. */
public class Tracker {
    static final int MOST = 1000;
    static final long[] entered = new long[MOST];
    static final long[] returned = new long[MOST];
    static final long[] unwound = new long[MOST];
    /** Calls of `methodExit` and `exceptionExit` for a method that is not running. */
    static long strays;
    /** Activations that called neither, found when a caller further up called one of them. */
    static long healed;
    /** The methods that are running. All is on one thread. */
    static final int[] running = new int[1_000_000];
    static int depth;

    public static void methodEntry(int method) {
        entered[method]++;
        running[depth++] = method;
    }

    public static void methodExit(int method) {
        returned[method]++;
        leave(method);
    }

    public static void exceptionExit(int method) {
        unwound[method]++;
        leave(method);
    }

    private static void leave(int method) {
        int at = depth - 1;
        while (at >= 0 && running[at] != method) {
            at--;
        }
        if (at < 0) {
            strays++;
        } else {
            healed += depth - 1 - at;
            depth = at;
        }
    }

    /** Runs a program and prints what was counted, a line for each number up to the second argument. */
    public static void main(String[] arguments) throws Exception {
        Runnable program = (Runnable) Class.forName(arguments[0]).getDeclaredConstructor().newInstance();
        program.run();
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            System.out.println(i + " " + entered[i] + " " + returned[i] + " " + unwound[i]);
        }
        System.out.println("strays " + strays + " healed " + healed + " running " + depth);
    }
}
