import java.io.File;

/**
 * Keeps 50,000 objects, prints `ready`, and starts and ends threads until there is a file `go`; then it prints `done`.
 */
public class Starting {
    static Object[] kept = new Object[50_000];

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < kept.length; i++) kept[i] = new int[] {i};
        System.out.println("ready");
        File go = new File("go");
        while (!go.exists()) {
            Thread thread = new Thread(() -> { }, "short");
            thread.start();
            thread.join();
        }
        System.out.println("done");
    }
}
