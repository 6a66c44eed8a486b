import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;

/**
 * Makes 240,000 objects of several shapes, refers to them in random order, and lives until there is a file `go`. A collector
 * that dumps its heap object by object as references lead to them writes next to no neighbors one after the other.
 */
public class Scattered {
    static class One { Object next; }

    static class Two { Object left, right; int number; }

    static class Three { Object a, b, c; long number; byte small; }

    static final List<Object> all = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        Random random = new Random(1);
        for (int i = 0; i < 40_000; i++) {
            all.add(new One());
            all.add(new Two());
            all.add(new Three());
            all.add(new byte[random.nextInt(40)]);
            all.add(new Object[random.nextInt(9)]);
            all.add(Integer.toString(i));
        }
        Collections.shuffle(all, random);
        System.out.println("ready");
        while (!new java.io.File("go").exists()) Thread.sleep(20);
    }
}
