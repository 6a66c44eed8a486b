import java.nio.charset.StandardCharsets;

/**
 * Starts 30 children from a busy thread beside another one, and prints what each says of its signals, once where they all say the
 * same, and `children` with their number when all have ended well.
 */
public class Children {
    static volatile double sink;

    static void work(int loops) {
        double x = 1;
        for (int i = 0; i < loops; i++) x = x * 1.0000001 + 0.5;
        sink = x;
    }

    public static void main(String[] args) throws Exception {
        Thread beside = new Thread(() -> {
            while (true) work(500_000);
        });
        beside.setDaemon(true);
        beside.start();
        java.util.Set<String> said = new java.util.TreeSet<>();
        int well = 0;
        for (int i = 0; i < 30; i++) {
            work(2_000_000);
            Process child = new ProcessBuilder("grep", "-E", "Sig(Pnd|Blk|Ign|Cgt)", "/proc/self/status").start();
            said.add(new String(child.getInputStream().readAllBytes(), StandardCharsets.US_ASCII));
            if (child.waitFor() == 0) well++;
        }
        said.forEach(System.out::print);
        System.out.println("children " + well);
    }
}
