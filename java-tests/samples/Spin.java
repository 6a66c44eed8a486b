/**
 * Known answer: CPU goes 3 : 1 to `hot` and `warm`, for 3 s, and for at least 450 rounds (about 3 s of CPU, 600 samples of 5 ms)
 * however busy the machine is: a share of so many is right within 0.02, one standard deviation; the thread
 * `blocked` sits in a native accept and uses none. Prints `spun`.
 */
public class Spin {
    static volatile double sink;
    static void hot(int n)  { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; sink = x; }
    static void warm(int n) { double x = 1; for (int i = 0; i < n; i++) x = x * 1.0000001 + 0.5; sink = x; }
    public static void main(String[] args) throws Exception {
        // So that `blocked` has few classes to load, which would take time that is rightly charged to it.
        java.net.InetAddress here = java.net.InetAddress.getLoopbackAddress();
        try (var other = new java.net.ServerSocket(0, 1, here); var client = new java.net.Socket()) {
            client.connect(other.getLocalSocketAddress());
        }
        java.net.ServerSocket server = new java.net.ServerSocket(0, 1, here);
        Thread blocked = new Thread(() -> { try { server.accept(); } catch (java.io.IOException e) { } }, "blocked");
        blocked.setDaemon(true);
        blocked.start();
        long end = System.nanoTime() + 3_000_000_000L;
        for (int round = 0; round < 450 || System.nanoTime() < end; round++) { hot(3_000_000); warm(1_000_000); }
        System.out.println("spun");
    }
}
