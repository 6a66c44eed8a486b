import java.io.IOException;

/** Why was it killed? The process is killed while a method computes, and its box says which. */
// asks: autopsy
public final class Killed {
    private static volatile long sink;

    static void spin(long nanos) {
        long begin = Truth.now();
        long x = 1;
        while (Truth.now() - begin < nanos) for (int i = 0; i < 50_000; i++) x = x * 31 + i;
        sink = x;
    }

    public static void main(String[] args) throws IOException, InterruptedException {
        spin(2_500_000_000L);
        Truth.say("cpu_ns", "Killed.spin", "-", 1_000_000_000L, 2_600_000_000L);
        System.out.flush();
        new ProcessBuilder("kill", "-9", Long.toString(ProcessHandle.current().pid())).start();
        Thread.sleep(60_000);
    }
}
