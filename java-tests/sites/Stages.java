import java.io.File;

/**
 * Allocates in three stages, prints `stage N` after each and waits until there is a file `go-N`. Known answer for
 * `Stages$Item` (live, allocated): 100, 150 after stage 1; 300, 450 after stage 2; 150, 450 after stage 3, which lets
 * go of half and allocates nothing; and the same at the end. Then it prints `done`.
 */
public class Stages {
    static class Item { long a; }

    static final Object[] KEEP = new Object[300];
    static int kept;
    static volatile Object sink;

    static void keep(int n) { for (int i = 0; i < n; i++) KEEP[kept++] = new Item(); }
    static void drop(int n) { for (int i = 0; i < n; i++) sink = new Item(); sink = null; }

    static void stage(int number) throws Exception {
        System.out.println("stage " + number);
        File go = new File("go-" + number);
        while (!go.exists()) Thread.sleep(20);
    }

    public static void main(String[] args) throws Exception {
        keep(100);
        drop(50);
        stage(1);
        keep(200);
        drop(100);
        stage(2);
        for (int i = 0; i < 300; i += 2) KEEP[i] = null;
        stage(3);
        System.out.println("done");
    }
}
