/**
 * Ends in the way that its argument names, after 300 ms in `busy`. Known answer, by argument: `return` exit status 0,
 * `exit` 3, `halt` 4, `throw` 1 with a stack trace on stderr; `wait` prints `ready` and stays in `busy` until it is
 * killed. The profile is complete in every case but SIGKILL, with `busy` on top.
 */
public class Exits {
    static volatile double sink;

    static void busy(long millis) {
        long end = System.nanoTime() + millis * 1_000_000;
        // Rounds as well: on a loaded machine the time may pass without a turn on a CPU.
        for (int round = 0; round < millis / 3 || System.nanoTime() < end; round++) {
            double x = 1;
            for (int i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }
    }

    public static void main(String[] args) {
        busy(300);
        switch (args[0]) {
            case "return":
                return;
            case "exit":
                System.exit(3);
                break;
            case "halt":
                Runtime.getRuntime().halt(4);
                break;
            case "throw":
                throw new IllegalStateException("thrown from main");
            case "wait":
                System.out.println("ready");
                while (true) busy(1_000);
            default:
                throw new IllegalArgumentException(args[0]);
        }
    }
}
