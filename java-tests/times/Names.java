/** Known answer: the traces name this file and the lines where the methods begin: `first` 7, `second` 12. */
public class Names {
    static int sink;

    static void first(
        int n) {
        sink += n;
        second();
    }

    static void second() {
        sink++;
    }

    public static void main(String[] args) {
        first(1);
        System.out.println("sink " + sink);
    }
}
