// Makes objects under every kind of frame, mixed at random: calls that are inlined or not, interface calls whose targets
// change (deoptimization), lambdas, reflection, proxies, method handles, exceptions, synchronized and native methods, calls from
// the VM (class initializers), loops that are replaced while they run (OSR), and classes that come and go.
//
// Arguments: for how many milliseconds, the number of threads.

import java.io.InputStream;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import java.util.stream.IntStream;

public class Stacks {
    static volatile Object sink;
    static volatile boolean ended;
    static final Object LOCK = new Object();
    static final MethodHandle NEXT, GUARDED, FILTERED;
    static final Method REFLECTED;
    static volatile Shape[] shapes = {new Round(), new Square()};

    static {
        try {
            MethodHandles.Lookup lookup = MethodHandles.lookup();
            MethodType type = MethodType.methodType(Object.class, Mix.class, int.class);
            NEXT = lookup.findStatic(Stacks.class, "next", type);
            MethodHandle test = lookup.findStatic(Stacks.class, "isOdd", MethodType.methodType(boolean.class, Mix.class, int.class));
            GUARDED = MethodHandles.guardWithTest(test, NEXT, lookup.findStatic(Stacks.class, "leaf", type));
            MethodHandle filter = lookup.findStatic(Stacks.class, "wrap", MethodType.methodType(Object.class, Object.class));
            FILTERED = MethodHandles.filterReturnValue(NEXT, filter);
            REFLECTED = Stacks.class.getDeclaredMethod("next", Mix.class, int.class);
        } catch (ReflectiveOperationException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** One thread's random numbers, and what it has loaded. */
    public static final class Mix {
        final SplittableRandom random;
        Callable<Object> loaded = () -> new int[1];

        Mix(long seed) {
            random = new SplittableRandom(seed);
        }
    }

    public interface Shape {
        Object made(Mix mix, int depth);
    }

    static final class Round implements Shape {
        public Object made(Mix mix, int depth) {
            return new Object[] {next(mix, depth)};
        }
    }

    static final class Square implements Shape {
        public synchronized Object made(Mix mix, int depth) {
            return next(mix, depth);
        }
    }

    /** Loaded again and again, each time by another loader. */
    public static class Visitor implements Callable<Object>, Shape {
        static final Object FIRST = new StringBuilder("made by the class initializer");

        public Object call() {
            return new long[2];
        }

        public Object made(Mix mix, int depth) {
            Object inner = new Object() {
                final Object value = next(mix, depth);
            };
            return new Object[] {inner, FIRST};
        }
    }

    static final class Visitors extends ClassLoader {
        Visitors() {
            super(Stacks.class.getClassLoader());
        }

        @Override
        protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
            if (!name.startsWith("Stacks$Visitor") || name.equals("Stacks$Visitors")) {
                return super.loadClass(name, resolve);
            }
            Class<?> known = findLoadedClass(name);
            if (known != null) {
                return known;
            }
            try (InputStream file = getParent().getResourceAsStream(name + ".class")) {
                byte[] bytes = file.readAllBytes();
                return defineClass(name, bytes, 0, bytes.length);
            } catch (java.io.IOException e) {
                throw new ClassNotFoundException(name, e);
            }
        }
    }

    static Object leaf(Mix mix, int depth) {
        switch (mix.random.nextInt(6)) {
            case 0: return new int[depth & 7];
            case 1: return "leaf" + depth;
            case 2: return new ArrayList<>(4);
            case 3: return Integer.valueOf(depth + 100_000);
            case 4: return new Object[0].clone();
            default: return new Object();
        }
    }

    static Object wrap(Object value) {
        return new Object[] {value};
    }

    static boolean isOdd(Mix mix, int depth) {
        return (depth & 1) != 0;
    }

    /** Goes on in one of the ways there are. */
    public static Object next(Mix mix, int depth) {
        if (depth <= 0) {
            return leaf(mix, depth);
        }
        try {
            switch (mix.random.nextInt(20)) {
                case 0: return next(mix, depth - 1);
                case 1: return small(mix, depth - 1);
                case 2: return shape(mix).made(mix, depth - 1);
                case 3: return ((Supplier<Object>) () -> next(mix, depth - 1)).get();
                case 4: return REFLECTED.invoke(null, mix, depth - 1);
                case 5: return (Object) NEXT.invokeExact(mix, depth - 1);
                case 6: return (Object) GUARDED.invokeExact(mix, depth - 1);
                case 7: return (Object) FILTERED.invokeExact(mix, depth - 1);
                case 8: return thrown(mix, depth - 1);
                case 9: return caught(mix, depth - 1);
                case 10: return locked(mix, depth - 1);
                case 11: return proxied(mix, depth - 1);
                case 12: return IntStream.range(0, 2).mapToObj(i -> next(mix, depth - 2)).toArray();
                case 13: return looped(mix, depth - 1);
                case 14: return natively(mix, depth - 1);
                case 15: return mix.loaded.call();
                case 16: return MethodHandles.insertArguments(NEXT, 0, mix).invoke(depth - 1);
                case 17: return trapped(mix, depth - 1);
                case 18: return finished(mix, depth - 1);
                default: return leaf(mix, depth);
            }
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Throwable e) {
            throw new IllegalStateException(e);
        }
    }

    private static Object small(Mix mix, int depth) {
        return smaller(mix, depth);
    }

    private static Object smaller(Mix mix, int depth) {
        sink = new byte[depth & 15];
        return next(mix, depth);
    }

    static Shape shape(Mix mix) {
        Shape[] all = shapes;
        return all[mix.random.nextInt(all.length)];
    }

    static final class Known extends RuntimeException {
        final Object value;

        Known(Object value) {
            this.value = value;
        }
    }

    static Object thrown(Mix mix, int depth) {
        try {
            throw new Known(next(mix, depth));
        } catch (Known e) {
            return new Object[] {e.value, e.getStackTrace().length};
        }
    }

    static Object caught(Mix mix, int depth) {
        int[] few = new int[1];
        Object nothing = depth > 1_000 ? "" : null;
        try {
            return mix.random.nextBoolean() ? few[1 + (depth & 1)] : nothing.hashCode();
        } catch (ArrayIndexOutOfBoundsException | NullPointerException e) {
            return new Object[] {e, next(mix, depth)};
        }
    }

    static Object finished(Mix mix, int depth) {
        try {
            return next(mix, depth);
        } finally {
            sink = new Object[] {mix};
        }
    }

    /** Wants no other monitor while it has this one, which threads come to that have one already. */
    static Object locked(Mix mix, int depth) {
        synchronized (LOCK) {
            return new Object[] {leaf(mix, depth)};
        }
    }

    static Object proxied(Mix mix, int depth) {
        Shape proxy = (Shape) Proxy.newProxyInstance(Stacks.class.getClassLoader(), new Class<?>[] {Shape.class},
            (self, method, arguments) -> next(mix, depth));
        return proxy.made(mix, depth);
    }

    /** A loop that gets long now and then. */
    static Object looped(Mix mix, int depth) {
        int turns = mix.random.nextInt(200) == 0 ? 20_000 : 2;
        Object last = null;
        for (int i = 0; i < turns; i++) {
            last = new Object[] {last == null ? next(mix, depth) : i};
        }
        return last;
    }

    static Object natively(Mix mix, int depth) throws ReflectiveOperationException {
        switch (mix.random.nextInt(6)) {
            case 0: return Array.newInstance(Stacks.class, 3);
            case 1: return new int[][] {{1}, {2}}.clone();
            case 2: return Thread.currentThread().getStackTrace();
            case 3: return Mix.class.getDeclaredConstructors();
            case 4: return ("name" + depth).intern();
            default: return Mix.class.getDeclaredConstructor(long.class).newInstance((long) depth);
        }
    }

    /** Something that has never happened so far happens now, so compiled code is discarded. */
    static Object trapped(Mix mix, int depth) {
        Object value = mix.random.nextInt(10_000) == 0 ? new Object() : "text";
        String text = value instanceof String ? (String) value : value.toString();
        int[] kept = {text.length(), depth};
        if (mix.random.nextInt(5_000) == 0) {
            sink = kept;
        }
        return new Object[] {next(mix, depth), kept[0]};
    }

    static void load(Mix mix) {
        try {
            Constructor<?> made = new Visitors().loadClass("Stacks$Visitor").getDeclaredConstructor();
            Object visitor = made.newInstance();
            Shape[] all = shapes;
            Shape[] more = {all[0], all[1], (Shape) visitor};
            shapes = more;
            @SuppressWarnings("unchecked")
            Callable<Object> loaded = (Callable<Object>) visitor;
            mix.loaded = loaded;
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    static void run(long seed) {
        Mix mix = new Mix(seed);
        while (!ended) {
            if (mix.random.nextInt(300) == 0) {
                load(mix);
            }
            sink = next(mix, mix.random.nextInt(12));
        }
    }

    public static void main(String[] arguments) throws InterruptedException {
        long end = System.nanoTime() + Long.parseLong(arguments[0]) * 1_000_000;
        List<Thread> threads = new ArrayList<>();
        for (int i = 0; i < Integer.parseInt(arguments[1]); i++) {
            long seed = i;
            Thread thread = new Thread(() -> run(seed), "mix " + i);
            thread.start();
            threads.add(thread);
        }
        while (System.nanoTime() < end) {
            Thread.sleep(200);
            System.gc();
        }
        ended = true;
        for (Thread thread : threads) {
            thread.join();
        }
        System.out.println("ended");
    }
}
