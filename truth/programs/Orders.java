import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;

/** What many services do: reads messages, keeps books in maps, sorts, formats and checks sums, in four threads. The work is the same in each run. */
public class Orders {
    static final class Order {
        final String customer;
        final int item;
        final long cents;

        Order(String line) {
            String[] words = line.split(" ");
            customer = words[0];
            item = Integer.parseInt(words[1]);
            cents = Long.parseLong(words[2]);
        }
    }

    static final Map<String, Long> TOTALS = new ConcurrentHashMap<>();
    static final Map<Integer, Integer> STOCK = new HashMap<>();

    static void take(int item) {
        synchronized (STOCK) {
            STOCK.merge(item, 1, Integer::sum);
        }
    }

    static String message(int number) { return "customer" + number % 977 + " " + number % 613 + " " + number * 7919L % 100_003; }

    static long batch(int first, int count) {
        List<Order> orders = new ArrayList<>();
        for (int i = first; i < first + count; i++) {
            Order order = new Order(message(i));
            orders.add(order);
            TOTALS.merge(order.customer, order.cents, Long::sum);
            take(order.item);
        }
        orders.sort((a, b) -> a.cents == b.cents ? a.customer.compareTo(b.customer) : Long.compare(a.cents, b.cents));
        StringBuilder report = new StringBuilder();
        for (Order order : orders) report.append(order.customer).append(':').append(order.item).append('=').append(order.cents).append('\n');
        CRC32 sum = new CRC32();
        sum.update(report.toString().getBytes());
        return sum.getValue();
    }

    public static void main(String[] args) throws Exception {
        int batches = Integer.parseInt(args[0]);
        ExecutorService pool = Executors.newFixedThreadPool(4);
        List<Future<Long>> results = new ArrayList<>();
        for (int i = 0; i < batches; i++) {
            int first = i * 1_000;
            results.add(pool.submit(() -> batch(first, 1_000)));
        }
        long sum = 0;
        for (Future<Long> result : results) sum += result.get();
        pool.shutdown();
        System.out.println(sum + " " + TOTALS.size() + " " + STOCK.size());
    }
}
