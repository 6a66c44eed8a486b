import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32;
import java.util.zip.Deflater;

/**
 * Known stacks: each method is called at one place only, by the method whose name is its own without the last part, up to `r`
 * and `begin`. Each call stands on a line of its own. So a stack is known by its innermost method of this file. Runs on four
 * threads, and on virtual ones where there are any, for the given number of milliseconds, and prints `walked`.
 */
public class Paths {
    static volatile boolean over;
    static volatile long sink;
    static volatile Object kept;
    static final Object lock = new Object();

    interface Shape {
        long r_b_a(int n);
    }

    static class Round implements Shape {
        @Override
        public long r_b_a(int n) {
            long sum = n;
            sum += r_b_a_a(n);
            sum += r_b_a_b(n);
            return sum;
        }

        static synchronized long r_b_a_a(int n) {
            long sum = 0;
            for (int i = 0; i < 300; i++) sum += (i ^ n) % 7;
            return sum;
        }

        private long r_b_a_b(int n) {
            Object[] made = new Object[40];
            for (int i = 0; i < made.length; i++) made[i] = new int[i];
            kept = made;
            return made.length;
        }
    }

    static long r(int n) {
        long sum = r_a(n);
        sum += r_b(n, new Round());
        sum += r_c(n);
        sum += r_d(n);
        return sum;
    }

    static long r_a(int n) {
        long sum = 0;
        for (int i = 0; i < 20; i++) {
            sum += r_a_a(n + i);
            sum += r_a_b(n - i);
        }
        return sum;
    }

    static long r_a_a(int n) {
        return r_a_a_a(n) + 1;
    }

    static long r_a_a_a(int n) {
        long sum = 1;
        for (int i = 1; i < 50; i++) sum = sum * 31 + (sum ^ i) / (n * n + 1);
        return sum;
    }

    static long r_a_b(int n) {
        double x = n;
        for (int i = 0; i < 30; i++) x = Math.sin(x) + i;
        return (long) x;
    }

    static long r_b(int n, Shape shape) {
        long sum = 0;
        for (int i = 0; i < 3; i++) {
            sum += shape.r_b_a(n);
        }
        sum += r_b_b(n);
        return sum;
    }

    static long r_b_b(int n) {
        synchronized (lock) {
            return r_b_b_a(n);
        }
    }

    static long r_b_b_a(int n) {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 30; i++) text.append(n).append(i);
        return text.toString().hashCode();
    }

    static long r_c(int n) {
        try {
            return r_c_a(n);
        } catch (IllegalStateException e) {
            return r_c_b(e);
        }
    }

    static long r_c_a(int n) {
        for (int i = 0; i < 100; i++) if ((i * n & 1023) == 1023) return i;
        throw r_c_a_a(n);
    }

    static IllegalStateException r_c_a_a(int n) {
        return new IllegalStateException("n" + n);
    }

    static long r_c_b(Exception e) {
        return e.getStackTrace().length;
    }

    static long r_d(int n) {
        byte[] bytes = new byte[2_000];
        System.arraycopy(new byte[1_000], 0, bytes, 500, 1_000);
        long sum = 0;
        sum += r_d_a(bytes);
        if (n % 20 == 0) {
            sum += r_d_b(bytes);
        }
        return sum;
    }

    static long r_d_a(byte[] bytes) {
        CRC32 sum = new CRC32();
        sum.update(bytes, 0, bytes.length);
        return sum.getValue();
    }

    static long r_d_b(byte[] bytes) {
        Deflater deflater = new Deflater();
        deflater.setInput(bytes);
        deflater.finish();
        long length = deflater.deflate(new byte[4_000]);
        deflater.end();
        return length;
    }

    static void begin(long rounds) {
        for (int n = 0; !over && n < rounds; n++) {
            sink += r(n);
        }
    }

    static void virtualThreads() throws Exception {
        Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
        while (!over) {
            Thread thread = (Thread) start.invoke(null, (Runnable) () -> begin(2_000));
            thread.join();
        }
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            threads.add(new Thread(() -> begin(Long.MAX_VALUE)));
        }
        threads.add(new Thread(() -> {
            try {
                virtualThreads();
            } catch (Exception e) {
                // There are none.
            }
        }));
        for (Thread thread : threads) thread.start();
        Thread.sleep(Long.parseLong(args[0]));
        over = true;
        for (Thread thread : threads) thread.join();
        System.out.println("walked");
    }
}
