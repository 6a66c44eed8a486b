import java.io.File;
import java.lang.reflect.Field;
import sun.misc.Unsafe;

/** Keeps 1,000 arrays of 1 KB that it made in `keep`, and crashes the VM, by writing to address 0, once the file `crash` exists. */
public class Crash {
    static final byte[][] kept = new byte[1_000][];

    public static void main(String[] arguments) throws Exception {
        keep();
        System.gc();
        System.out.println("kept");
        while (!new File("crash").exists()) {
            Thread.sleep(10);
        }
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        ((Unsafe) field.get(null)).putAddress(0, 1);
        System.out.println("alive");
    }

    static void keep() {
        for (int number = 0; number < kept.length; number++) {
            kept[number] = new byte[1_000];
        }
    }
}
