import java.util.ArrayList;
import java.util.List;

/**
 * Known answer: 4,000 objects of java.lang.Integer made in `keep`, all of which stay, and 3,000 made in `drop`, none of which
 * does; 500 of java.lang.Object made in `plain`, which stay. With --enable-preview, from JDK 28 on, an Integer has no identity. The
 * arguments are the numbers of the first two. Prints `boxed`.
 */
public class Boxed {
    static final List<Object> KEPT = new ArrayList<>();
    static volatile Object dropped;

    // Beyond what Integer.valueOf has in its cache.
    static void keep(int n) { for (int i = 0; i < n; i++) KEPT.add(1_000 + i); }
    static void drop(int n) { for (int i = 0; i < n; i++) dropped = 1_000 + i; }
    static void plain(int n) { for (int i = 0; i < n; i++) KEPT.add(new Object()); }

    public static void main(String[] args) {
        keep(Integer.parseInt(args[0]));
        drop(Integer.parseInt(args[1]));
        plain(500);
        System.out.println("boxed");
    }
}
