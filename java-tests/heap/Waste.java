import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Wastes memory in known ways. Prints `ready` and lives until there is a file `go`. Known answers, in bytes, with a VM whose
 * objects have headers of 12 bytes, references of 4 and an alignment of 8, and JDK 9 or newer:
 *
 *   strings      3,000 times "the same text of 32 characters!!", each of 24 and an array of 16 + 32: all but one waste
 *                2,999 * 72 = 215,928; made in Waste.text
 *   arrays       2,000 times the same long[50] of 16 + 400: 1,999 * 416 = 831,584; made in Waste.numbers. 500 more
 *                long[50] differ from one another
 *   shared       100 strings of one array of 16 + 40: all but one waste 99 * 24 = 2,376
 *   empty        1,000 Nothing of 48 that never had an entry: 48,000; and 700 Room of 24 with an array of
 *                16 + 400 that nothing is in: 700 * 440 = 308,000
 *   sparse       600 Room with an array of 200 references that 3 objects are in: 600 * 197 * 4 = 472,800
 *   full         300 Room with 100 of 100: waste nothing
 */
public class Waste {
    static final List<String> strings = new ArrayList<>();
    static final List<long[]> arrays = new ArrayList<>();
    static final List<String> shared = new ArrayList<>();
    static final List<Object> empty = new ArrayList<>();
    static final List<Object> sparse = new ArrayList<>();
    static final List<Object> full = new ArrayList<>();

    static String text() {
        // A literal with this text would be one more.
        return new StringBuilder("the same text of 32 characters!").append('!').toString();
    }

    static long[] numbers(long first) {
        long[] numbers = new long[50];
        numbers[7] = first;
        return numbers;
    }

    // The VM has such collections too.
    static class Nothing extends HashMap<String, String> { }

    static class Room extends ArrayList<Object> {
        Room(int room) { super(room); }
    }

    static Map<String, String> nothing() {
        return new Nothing();
    }

    static List<Object> list(int room, int used) {
        List<Object> list = new Room(room);
        for (int i = 0; i < used; i++) list.add(Waste.class);
        return list;
    }

    public static void main(String[] args) throws Exception {
        for (int i = 0; i < 3000; i++) strings.add(text());
        for (int i = 0; i < 2000; i++) arrays.add(numbers(77));
        for (int i = 0; i < 500; i++) arrays.add(numbers(1000 + i));
        String first = new StringBuilder("another text, that has 40 characters, o").append('k').toString();
        // Its copies use the same array.
        for (int i = 0; i < 100; i++) shared.add(new String(first));
        first = null;
        for (int i = 0; i < 1000; i++) empty.add(nothing());
        for (int i = 0; i < 700; i++) empty.add(list(100, 0));
        for (int i = 0; i < 600; i++) sparse.add(list(200, 3));
        for (int i = 0; i < 300; i++) full.add(list(100, 100));
        System.out.println("ready");
        while (!new java.io.File("go").exists()) Thread.sleep(20);
    }
}
