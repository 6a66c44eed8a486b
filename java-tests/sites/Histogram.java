import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Builds a heap of some 25 MB, prints `ready` and stays until it is killed, without changing anything. Known answer,
 * all live: 100,000 `Histogram$Node` made in `nodes`, 60,000 `Histogram$Leaf` (20,000 of them in two threads), 1,000
 * `Histogram$Node[10]` in `arrays`, 5,000 `byte[1,000]` in `bytes`, 3,000 `long[200]` in `longs`, 30,000 entries of a
 * HashMap with as many Integer keys and String values in `map`. As many nodes and byte arrays again have been
 * dropped.
 */
public class Histogram {
    static class Node { int a; long b; Node next; }
    static class Leaf { Object value; }

    static final List<Object> KEEP = new ArrayList<>();
    static volatile Object sink;

    static synchronized void hold(Object o) { KEEP.add(o); }

    static void nodes() {
        Node first = null;
        for (int i = 0; i < 100_000; i++) {
            Node node = new Node();
            node.next = first;
            first = node;
            sink = new Node();
        }
        hold(first);
    }

    static void leaves(int depth, int n) {
        if (depth > 0) leaves(depth - 1, n);
        else for (int i = 0; i < n; i++) hold(new Leaf());
    }

    static void arrays() { for (int i = 0; i < 1_000; i++) hold(new Node[10]); }

    static void bytes() {
        for (int i = 0; i < 5_000; i++) {
            hold(new byte[1_000]);
            sink = new byte[1_000];
        }
    }

    static void longs() { for (int i = 0; i < 3_000; i++) hold(new long[200]); }

    static void map() {
        Map<Integer, String> map = new HashMap<>();
        for (int i = 0; i < 30_000; i++) map.put(1_000 + i, "value " + i);
        hold(map);
    }

    public static void main(String[] args) throws Exception {
        nodes();
        leaves(0, 20_000);
        leaves(20, 20_000);
        Thread[] threads = new Thread[2];
        for (int i = 0; i < 2; i++) {
            threads[i] = new Thread(() -> leaves(3, 10_000));
            threads[i].start();
        }
        for (Thread thread : threads) thread.join();
        arrays();
        bytes();
        longs();
        map();
        sink = null;
        System.out.println("ready");
        Thread.currentThread().join();
    }
}
