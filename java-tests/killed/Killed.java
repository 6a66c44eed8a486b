import java.util.ArrayList;
import java.util.List;

/**
 * Keeps as many items as its argument says, and then waits until its input ends. A dump that is whole has that many
 * Killed$Item, and one that was killed no more.
 */
public class Killed {
    static final class Item {
        final byte[] data = new byte[40];
        Item before;
    }

    static final List<Item> ITEMS = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        int items = Integer.parseInt(arguments[0]);
        Item before = null;
        for (int i = 0; i < items; i++) {
            Item item = new Item();
            item.before = before;
            before = item;
            ITEMS.add(item);
        }
        System.out.println("ready");
        System.out.flush();
        while (System.in.read() >= 0) {
            // Whatever comes is not the end.
        }
    }
}
