import java.io.File;

/**
 * Known answer: `step` 100 times before it prints `one`, then, when there is a file `go`, 50 times more until the end.
 */
public class Dumps {
    static int sink;

    static void step() { sink++; }
    static void steps(int n) { for (int i = 0; i < n; i++) step(); }

    public static void main(String[] args) throws Exception {
        steps(100);
        System.out.println("one");
        File go = new File("go");
        while (!go.exists()) Thread.sleep(20);
        steps(50);
        System.out.println("two");
    }
}
