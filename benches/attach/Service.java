import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/**
 * Serves requests on 8 threads, as fast as it can, until its stdin ends: text comes in as bytes, is taken apart, looked up in a
 * catalogue, and answered as JSON. There is no network between, so that all of the time is the program's own. For each line of
 * stdin it prints how many requests it has served.
 */
public class Service {
    static final int THREADS = 8;
    static final int ITEMS = 2_000;

    static final Map<String, Item> CATALOGUE = new TreeMap<>();
    static final LongAdder SERVED = new LongAdder();
    static volatile byte[] sink;

    static final class Item {
        final String name;
        final String group;
        final int price;

        Item(int number) {
            name = "item-" + number;
            group = "group-" + number % 37;
            price = 100 + number * 7919 % 900;
        }
    }

    static byte[] request(int number) {
        String text = "GET /items?group=group-" + number % 37 + "&limit=" + (3 + number % 10) + "&below=" + (300 + number % 600)
                + " HTTP/1.1\r\nHost: localhost\r\nAccept: application/json\r\nUser-Agent: bench/" + number % 5
                + "\r\nCookie: session=" + number * 31 + "\r\n\r\n";
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    static byte[] serve(byte[] request) {
        String[] lines = new String(request, StandardCharsets.US_ASCII).split("\r\n");
        Map<String, String> headers = new HashMap<>();
        for (int i = 1; i < lines.length; i++) {
            int colon = lines[i].indexOf(':');
            headers.put(lines[i].substring(0, colon).toLowerCase(), lines[i].substring(colon + 1).trim());
        }
        Map<String, String> query = new HashMap<>();
        String path = lines[0].split(" ")[1];
        for (String pair : path.substring(path.indexOf('?') + 1).split("&")) {
            String[] parts = pair.split("=");
            query.put(parts[0], parts[1]);
        }
        return answer(found(query), headers);
    }

    static List<Item> found(Map<String, String> query) {
        String group = query.get("group");
        int below = Integer.parseInt(query.get("below"));
        List<Item> found = new ArrayList<>();
        for (int number = Integer.parseInt(group.substring(6)); number < ITEMS; number += 37) {
            Item item = CATALOGUE.get("item-" + number);
            if (item.price < below) found.add(item);
        }
        found.sort(Comparator.comparing((Item item) -> item.price).thenComparing(item -> item.name));
        return found.subList(0, Math.min(found.size(), Integer.parseInt(query.get("limit"))));
    }

    static byte[] answer(List<Item> items, Map<String, String> headers) {
        StringBuilder json = new StringBuilder("{\"for\":\"").append(headers.get("cookie")).append("\",\"items\":[");
        for (Item item : items) {
            if (json.charAt(json.length() - 1) == '}') json.append(',');
            json.append("{\"name\":\"").append(item.name).append("\",\"price\":").append(item.price / 100.0).append('}');
        }
        return json.append("]}").toString().getBytes(StandardCharsets.UTF_8);
    }

    public static void main(String[] arguments) throws Exception {
        for (int number = 0; number < ITEMS; number++) {
            Item item = new Item(number);
            CATALOGUE.put(item.name, item);
        }
        for (int thread = 0; thread < THREADS; thread++) {
            int first = thread * 1_000;
            Thread server = new Thread(() -> {
                for (int number = first; ; number++) {
                    sink = serve(request(number & 0xffff));
                    SERVED.increment();
                }
            }, "server-" + thread);
            server.setDaemon(true);
            server.start();
        }
        while (System.in.read() >= 0) {
            System.out.println(SERVED.sum());
        }
    }
}
