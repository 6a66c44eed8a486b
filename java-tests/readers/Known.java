import java.util.ArrayList;
import java.util.List;

/** Keeps objects that a reader of heap dumps is to find, and then stops at its end. */
public class Known {
    static class Item {
        final int index;

        Item(int index) {
            this.index = index;
        }
    }

    /** Held by nothing but a local variable of a thread. */
    static class Leaked {
    }

    static void hold() {
        Leaked leaked = new Leaked();
        synchronized (leaked) {
            started.countDown();
            while (true) {
                try {
                    new java.util.concurrent.CountDownLatch(1).await();
                } catch (InterruptedException e) {
                    System.out.println(leaked);
                }
            }
        }
    }

    /** Calls {@link #hold} from a class that names no source file. */
    static Runnable proxied() {
        return (Runnable) java.lang.reflect.Proxy.newProxyInstance(Known.class.getClassLoader(),
                new Class<?>[] {Runnable.class}, (proxy, method, arguments) -> {
                    hold();
                    return null;
                });
    }

    static final java.util.concurrent.CountDownLatch started = new java.util.concurrent.CountDownLatch(1);

    static final Known KNOWN = new Known();

    final int number = 4711;
    final long wide = 1L << 40;
    final double half = 0.5;
    final boolean yes = true;
    final String text = "the known text";
    final int[] values = {1, 2, 3};
    final Object[] items = make(1000);

    static Object[] make(int count) {
        List<Object> items = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            items.add(new Item(i));
        }
        return items.toArray();
    }

    public static void main(String[] args) throws InterruptedException {
        Thread holder = new Thread(proxied(), "holder");
        holder.setDaemon(true);
        holder.start();
        started.await();
        System.out.println(KNOWN.items.length);
    }
}
