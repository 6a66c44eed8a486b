import java.io.InputStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.function.Supplier;

/**
 * Suspends threads at random moments, as a debugger does, and meanwhile does the same on its own thread: makes an object at a place
 * where none was made before, starts a thread and waits for its end, or waits for a monitor. A suspended thread holds nothing that
 * the other needs, so by itself the program never waits for one.
 *
 * The arguments are the library (suspend.c), the number of rounds, and a seed. Prints at the end "rounds N", the argument, and
 * "suspended M", at least a tenth of it. If a round takes a minute it prints "stuck in round R: KIND" and ends with status 3.
 */
public class Suspended {
    static native int suspend(Thread thread);

    static native int resume(Thread thread);

    /** Each copy of this class has another name, and so a new place. */
    public static class Place00000000 implements Supplier<Object> {
        @Override
        public Object get() {
            return new int[2];
        }
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    static final int BATCH = 30;
    static final int ROUND_SECONDS = 60;
    static final byte[] NAME = "Place00000000".getBytes();
    static byte[] place;
    static int places;
    static volatile int round;
    static volatile String kind = "";
    static volatile Object sink;

    /** Returns an object of a new class. */
    static Supplier<?> newPlace(Loader loader) throws ReflectiveOperationException {
        byte[] bytes = place.clone();
        byte[] name = String.format("Place%08d", ++places).getBytes();
        for (int at = 0; at + NAME.length <= bytes.length; at++) {
            if (Arrays.equals(bytes, at, at + NAME.length, NAME, 0, NAME.length)) {
                System.arraycopy(name, 0, bytes, at, name.length);
            }
        }
        return (Supplier<?>) loader.define(bytes).getDeclaredConstructor().newInstance();
    }

    /** A thread in a group of its own, so that no two threads need the lock of one group. */
    static Thread thread(String name, Runnable body) {
        Thread thread = new Thread(new ThreadGroup(name), body, name);
        thread.setDaemon(true);
        return thread;
    }

    /** Takes the monitor again and again, and so does its twin. */
    static void contend(Object monitor) {
        while (true) {
            synchronized (monitor) {
                spin(200);
            }
            spin(200);
            Thread.yield();
        }
    }

    static void spin(int times) {
        for (int i = 0; i < times; i++) {
            Thread.onSpinWait();
        }
    }

    static void watch() {
        int seen = -1;
        for (int seconds = 0; seconds < ROUND_SECONDS; seconds++) {
            if (seen != round) {
                seen = round;
                seconds = 0;
            }
            try {
                Thread.sleep(1000);
            } catch (InterruptedException interrupted) {
                return;
            }
        }
        System.out.println("stuck in round " + seen + ": " + kind);
        Runtime.getRuntime().halt(3);
    }

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        int rounds = Integer.parseInt(arguments[1]);
        Random random = new Random(Long.parseLong(arguments[2]));
        try (InputStream in = Suspended.class.getResourceAsStream("Suspended$Place00000000.class")) {
            place = in.readAllBytes();
        }
        thread("watch", Suspended::watch).start();
        Object monitor = new Object();
        Object own = new Object();
        List<Thread> contenders = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            contenders.add(thread("contends", () -> contend(monitor)));
        }
        thread("contends with main", () -> contend(own)).start();
        contenders.forEach(Thread::start);
        List<Supplier<?>> theirs = new ArrayList<>();
        List<Supplier<?>> ours = new ArrayList<>();
        int suspended = 0;
        for (; round < rounds; round++) {
            if (ours.isEmpty()) {
                for (int i = 0; i < BATCH; i++) {
                    Loader loader = new Loader();
                    ours.add(newPlace(loader));
                    theirs.add(newPlace(loader));
                }
            }
            kind = List.of("new places", "a thread that starts", "a monitor").get(round % 3);
            Thread victim;
            switch (round % 3) {
                case 0:
                    List<Supplier<?>> some = new ArrayList<>(theirs);
                    theirs.clear();
                    victim = thread("makes", () -> some.forEach(it -> sink = it.get()));
                    victim.start();
                    break;
                case 1:
                    victim = thread("starts", () -> { });
                    victim.start();
                    break;
                default:
                    victim = contenders.get(random.nextInt(2));
                    break;
            }
            spin(random.nextInt(4000));
            boolean isSuspended = suspend(victim) == 0;
            for (int i = 0; i < 3 && !ours.isEmpty(); i++) {
                sink = ours.remove(ours.size() - 1).get();
            }
            Thread other = thread("starts, too", () -> { });
            other.start();
            other.join();
            synchronized (own) {
                spin(10);
            }
            if (isSuspended) {
                suspended++;
                resume(victim);
            }
            if (round % 3 != 2) {
                victim.join();
            }
        }
        System.out.println("rounds " + round);
        System.out.println("suspended " + suspended);
    }
}
