import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;

/**
 * Leaks 40,000 arrays of 100 bytes in a local variable of a virtual thread, which is parked, and lives until there is a file
 * `go`. Known answer: the list is the first suspect, it is held by the virtual thread's stack, and VirtualLeak21.allocate made it. Only the VM's own dumper of JDK 21 does not see that
 * stack: nothing keeps the list in its dumps.
 */
public class VirtualLeak21 {
    static byte[] allocate() {
        return new byte[100];
    }

    static void keep(CountDownLatch filled, CountDownLatch end) {
        List<byte[]> list = new ArrayList<>();
        for (int i = 0; i < 40_000; i++) list.add(allocate());
        filled.countDown();
        try { end.await(); } catch (InterruptedException e) { }
        System.out.println(list.size());
    }

    static Thread keeper;

    public static void main(String[] args) throws Exception {
        CountDownLatch filled = new CountDownLatch(1), end = new CountDownLatch(1);
        keeper = Thread.ofVirtual().name("keeper").start(() -> keep(filled, end));
        filled.await();
        // It is unmounted soon after.
        while (keeper.getState() != Thread.State.WAITING) Thread.sleep(1);
        System.out.println("ready");
        while (!new java.io.File("go").exists()) Thread.sleep(20);
        end.countDown();
        keeper.join();
    }
}
