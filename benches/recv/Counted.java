/** Allocates as many objects of class `Made` as its argument says; the sites of its profile tell their number. */
public class Counted {
    static final class Made {}

    static Object last;

    public static void main(String[] args) {
        int count = Integer.parseInt(args[0]);
        for (int i = 0; i < count; i++) last = new Made();
        System.out.println("made " + count);
    }
}
