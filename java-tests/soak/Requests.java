import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * A server under load that goes on for ever in the same way: 4 threads answer 1,000 requests a second (or as many as its
 * argument says), each of which makes some hundred short-lived objects, looks into a cache of 20,000 entries that throws the
 * oldest out, and takes a lock that the others want too. Every 500 requests a thread of its own comes and goes. Says
 * `ready` when the cache is full.
 *
 * Truth: what it holds does not grow.
 */
public class Requests {
    static final int ENTRIES = 20_000;

    static final class Request {
        final long number;

        Request(long number) {
            this.number = number;
        }
    }

    static final class Cache extends LinkedHashMap<Long, byte[]> {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Long, byte[]> eldest) {
            return size() > ENTRIES;
        }
    }

    static final Cache CACHE = new Cache();
    static final BlockingQueue<Request> QUEUE = new ArrayBlockingQueue<>(1_000);
    static volatile Object sink;

    static byte[] look(long key) {
        synchronized (CACHE) {
            return CACHE.computeIfAbsent(key, missing -> new byte[(int) (missing % 512)]);
        }
    }

    static void answer(Request request) {
        ArrayDeque<Object> answer = new ArrayDeque<>();
        for (int i = 0; i < 50; i++) {
            answer.add(Long.toString(request.number + i));
        }
        answer.add(look(request.number % (3 * ENTRIES)));
        sink = Arrays.asList(answer.toArray());
    }

    static void serve() {
        try {
            while (true) {
                Request request = QUEUE.take();
                answer(request);
                if (request.number % 500 == 0) {
                    Thread helper = new Thread(() -> answer(request), "helper");
                    helper.start();
                    helper.join();
                }
            }
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    public static void main(String[] args) throws InterruptedException {
        int perSecond = args.length > 0 ? Integer.parseInt(args[0]) : 1_000;
        for (long number = 0; number < 3 * ENTRIES; number++) {
            answer(new Request(number));
        }
        for (int i = 0; i < 4; i++) {
            Thread thread = new Thread(Requests::serve, "server " + i);
            thread.setDaemon(true);
            thread.start();
        }
        System.out.println("ready");
        for (long number = 0; ; number++) {
            QUEUE.put(new Request(number));
            if (number % (perSecond / 100) == 0) {
                Thread.sleep(10);
            }
        }
    }
}
