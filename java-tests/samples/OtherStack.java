/**
 * Spends two seconds of CPU time in a native method that runs on a stack of its own, 32 KB on the heap, as languages with small
 * stacks do. The argument is the library.
 */
public class OtherStack {
    static native void spin(long millis);

    public static void main(String[] arguments) {
        System.load(arguments[0]);
        spin(2000);
        System.out.println("spun");
    }
}
