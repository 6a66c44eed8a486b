import java.util.Map;
import java.util.TreeMap;

// Methods call each other in an order that looks random, between 40 and 140 deep, and make a Mark before and after each call.
// Prints how many Marks each stack of the innermost 24 methods has made, as the program itself counts.

public class Heights {
    static final int DEPTH = 24;

    static volatile Object sink;

    static final class Mark {}

    static final Map<String, Integer> made = new TreeMap<>();
    /** The methods that run, outermost first. */
    static final StringBuilder path = new StringBuilder("n");

    static long state = 1;
    static int moves;

    static int random(int below) {
        state = state * 6364136223846793005L + 1442695040888963407L;
        return (int) (state >>> 33) % below;
    }

    static void a() {
        path.append('a');
        body();
    }

    static void b() {
        path.append('b');
        body();
    }

    static void c() {
        path.append('c');
        body();
    }

    static void body() {
        path.append('y');
        mark();
        while (moves > 0 && path.length() < 140 && (path.length() < 40 || random(3) > 0)) {
            moves--;
            call(random(3));
            mark();
        }
        path.setLength(path.length() - 2);
    }

    static void call(int method) {
        path.append('l');
        if (method == 0) {
            a();
        } else if (method == 1) {
            b();
        } else {
            c();
        }
        path.setLength(path.length() - 1);
    }

    static void mark() {
        sink = new Mark();
        String stack = new StringBuilder(path).append('k').reverse().toString();
        made.merge(stack.substring(0, Math.min(DEPTH, stack.length())), 1, Integer::sum);
    }

    public static void main(String[] args) {
        moves = Integer.parseInt(args[0]);
        while (moves > 0) {
            body0();
        }
        made.forEach((stack, count) -> System.out.println("made " + stack + " " + count));
    }

    static void body0() {
        path.append('0');
        mark();
        moves--;
        call(random(3));
        path.setLength(path.length() - 1);
    }
}
