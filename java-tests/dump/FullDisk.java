/** Keeps 40 MB in arrays of bytes until it ends. */
public class FullDisk {
    static final byte[][] kept = new byte[40][];

    public static void main(String[] arguments) {
        for (int number = 0; number < kept.length; number++) {
            kept[number] = new byte[1 << 20];
        }
        System.out.println("kept " + kept.length);
    }
}
