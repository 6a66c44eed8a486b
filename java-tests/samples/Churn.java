import java.io.InputStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntUnaryOperator;

/**
 * Code whose stacks are hard to walk, on six threads for the given number of milliseconds: classes that are defined and
 * unloaded, reflection, proxies, exceptions, deep recursion up to a stack overflow, code that is deoptimized, native code,
 * garbage, threads that come and go, virtual threads where there are any, which yield deep in their stacks. With the agent of
 * Redefine.java the classes are redefined meanwhile, and the VM discards all compiled code with that of sun/hotspot/WhiteBox.java.
 * Prints `churned`.
 */
public class Churn {
    static volatile long sink;
    static volatile boolean over;

    public interface Work { int work(int n); }

    public static class Even implements Work { public int work(int n) { return n * 2; } }
    public static class Odd implements Work { public int work(int n) { return n * 3 + 1; } }
    public static class Late implements Work { public int work(int n) { return n ^ 7; } }

    /** Defines a class of this file anew each time; it goes with its loader. */
    static class Loader extends ClassLoader {
        @Override protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.equals("Churn$Late")) return super.loadClass(name, resolve);
            try (InputStream in = Churn.class.getResourceAsStream("Churn$Late.class")) {
                byte[] bytes = in.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static void classes() throws Exception {
        Object late = new Loader().loadClass("Churn$Late").getDeclaredConstructor().newInstance();
        Method work = late.getClass().getMethod("work", int.class);
        for (int i = 0; i < 3_000; i++) sink += (Integer) work.invoke(late, i);
    }

    static void proxies() {
        Work work = (Work) Proxy.newProxyInstance(Churn.class.getClassLoader(), new Class<?>[] {Work.class},
            (proxy, method, arguments) -> (Integer) arguments[0] + 1);
        for (int i = 0; i < 3_000; i++) sink += work.work(i);
    }

    static int recurse(int n) {
        return n == 0 ? 0 : 1 + recurse(n - 1);
    }

    /** Yields at many depths: a virtual thread's frames leave its stack, and come back one by one. */
    static int yields(int n) {
        if (n % 25 == 0) Thread.yield();
        if (n % 60 == 0) LockSupport.parkNanos(1_000);
        return n == 0 ? 0 : 1 + yields(n - 1) + (n % 7 == 0 ? recurse(20) - 20 : 0);
    }

    static int overflow(int n) {
        return overflow(n + 1) + 1;
    }

    static void exceptions() {
        for (int i = 0; i < 200; i++) {
            try {
                if (i % 40 == 0) overflow(0);
                Integer.parseInt("x" + i);
            } catch (NumberFormatException | StackOverflowError e) {
                sink += e.getStackTrace().length;
            }
        }
    }

    /** The call becomes polymorphic, so what was compiled before is thrown away. */
    static void deoptimize() {
        Work[] all = {new Even(), new Odd(), new Late()};
        for (int kinds = 1; kinds <= 3; kinds++) {
            int count = kinds;
            IntUnaryOperator step = n -> all[n % count].work(n);
            for (int i = 0; i < 20_000; i++) sink += step.applyAsInt(i);
        }
    }

    static void strings() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 3_000; i++) text.append(i).append(String.format("%x", i));
        byte[] out = new byte[1 << 16];
        java.util.zip.Deflater deflater = new java.util.zip.Deflater();
        deflater.setInput(text.toString().getBytes());
        deflater.finish();
        sink += deflater.deflate(out);
        deflater.end();
        sink += text.toString().chars().sorted().filter(c -> c != ' ').count();
    }

    static void threads() throws Exception {
        List<Thread> threads = new ArrayList<>();
        Method virtual = null;
        try {
            virtual = Thread.class.getMethod("startVirtualThread", Runnable.class);
            virtual.invoke(null, (Runnable) () -> { });
        } catch (ReflectiveOperationException | UnsupportedOperationException e) {
            virtual = null;
        }
        for (int i = 0; i < 20; i++) {
            Runnable run = () -> {
                sink += recurse(500);
                sink += yields(150);
                deoptimize();
            };
            if (virtual != null && i % 2 == 0) {
                threads.add((Thread) virtual.invoke(null, run));
            } else {
                Thread thread = new Thread(run);
                thread.start();
                threads.add(thread);
            }
        }
        for (Thread thread : threads) thread.join();
    }

    static void churn() {
        try {
            while (!over) {
                classes();
                proxies();
                exceptions();
                sink += recurse(2_000);
                deoptimize();
                strings();
                threads();
            }
        } catch (Exception e) {
            e.printStackTrace();
            System.exit(5);
        }
    }

    /** Makes the VM give up what it has made of the methods, again and again, by the named method if it is there. */
    static void giveUp(String type, String method) {
        try {
            Method give = Class.forName(type).getMethod(method);
            while (!over) {
                give.invoke(null);
                Thread.sleep(20);
            }
        } catch (ReflectiveOperationException | InterruptedException e) {
            // The program runs without it.
        }
    }

    public static void main(String[] args) throws Exception {
        List<Thread> threads = new ArrayList<>();
        threads.add(new Thread(() -> giveUp("Redefine", "all")));
        threads.add(new Thread(() -> giveUp("Discard", "all")));
        for (int i = 0; i < 6; i++) threads.add(new Thread(Churn::churn, "churn-" + i));
        for (Thread thread : threads) thread.start();
        Thread.sleep(Long.parseLong(args[0]));
        over = true;
        for (Thread thread : threads) thread.join();
        System.out.println("churned");
    }
}
