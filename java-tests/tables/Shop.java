import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Two pools of threads and one lock: {@code Shop BUILD}.
 *
 * <p>Threads orders-1 and orders-2 make 1,000 Order each, of which every tenth stays alive, with an array of 100 x BUILD bytes. Thread
 * reports-1 makes 200 Report with an array of 1,000 longs each, of which none stays. The two order threads pay at one Till 20 times
 * each; paying takes 2 ms with the till's monitor held. Before, the main thread computes for 300 ms in Shop.price.
 */
public class Shop {
    static final List<Order> open = Collections.synchronizedList(new ArrayList<>());
    static final Till till = new Till();
    static long sink;

    static class Order {
        final byte[] items;

        Order(int bytes) {
            items = new byte[bytes];
        }
    }

    static class Report {
        final long[] figures = new long[1000];
    }

    static class Till {
        synchronized void pay() throws InterruptedException {
            Thread.sleep(2);
        }
    }

    static class OrderHandler {
        static void handle(int number, int build) throws InterruptedException {
            Order order = new Order(100 * build);
            if (number % 10 == 0) {
                open.add(order);
            }
            if (number % 50 == 0) {
                till.pay();
            }
        }
    }

    static class ReportHandler {
        static void handle() {
            sink += new Report().figures.length;
        }
    }

    static void price() {
        long end = System.nanoTime() + 300_000_000L;
        while (System.nanoTime() < end) {
            sink += sink ^ end;
        }
    }

    static void takeOrders(int build) {
        try {
            for (int number = 0; number < 1000; number++) {
                OrderHandler.handle(number, build);
            }
        } catch (InterruptedException impossible) {
            throw new AssertionError(impossible);
        }
    }

    static void writeReports() {
        for (int number = 0; number < 200; number++) {
            ReportHandler.handle();
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int build = Integer.parseInt(args[0]);
        price();
        Thread[] threads = {
            new Thread(() -> takeOrders(build), "orders-1"),
            new Thread(() -> takeOrders(build), "orders-2"),
            new Thread(Shop::writeReports, "reports-1"),
        };
        for (Thread thread : threads) {
            thread.start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("open " + open.size());
    }
}
