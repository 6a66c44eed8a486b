import java.io.File;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.DataFormatException;
import java.util.zip.Deflater;
import java.util.zip.Inflater;
import sun.misc.Unsafe;

/**
 * Takes native memory in known amounts. The first argument is the library of `memory.c`, the others are what to do, in this
 * order:
 *
 * leak: 1,000,000 blocks of 64 bytes, in `leak` from `leaks`, which are never freed.
 * balance: 200,000 blocks of 64 bytes and as many of 640, in `balance` from `balances`, all freed.
 * grow: 10,000 blocks of 100 bytes that become 6,400 bytes, in `grow` from `grows`, never freed.
 * threads: the same as `leak`, in 100 threads of the library, in `thread_leaks`: they are not attached to the VM.
 * inflate: 300 inflaters that have inflated and are not ended, in `inflaters`.
 * direct: buffers of 40 MB in `first` and 10 MB in `second`.
 * unsafe: blocks of 20 MB in `third` and 10 MB in `fourth`.
 * load: loads and unloads a library 500 times, in 4 threads.
 * sleep: 11 seconds.
 * churn: says "ready", and does `load` and starts threads, which free all they allocate, until the file `end` exists.
 */
public class Native {
    static final List<Object> kept = new ArrayList<>();

    static native void leak(int blocks, int bytes);

    static native void balance(int blocks, int bytes);

    static native void grow(int blocks);

    static native void threads(int threads, int blocks, int bytes);

    static native void balancedThreads(int threads, int blocks, int bytes);

    static native int load(String path, int times);

    public static void main(String[] arguments) throws Exception {
        System.load(arguments[0]);
        for (int at = 1; at < arguments.length; at++) {
            run(arguments[at], arguments[0]);
        }
        System.out.println("done");
    }

    static void run(String kind, String library) throws Exception {
        switch (kind) {
            case "leak":
                leaks();
                break;
            case "balance":
                balances();
                break;
            case "grow":
                grows();
                break;
            case "threads":
                threads(100, 10_000, 64);
                break;
            case "inflate":
                inflaters();
                break;
            case "direct":
                first();
                second();
                break;
            case "unsafe":
                third(unsafe());
                fourth(unsafe());
                break;
            case "load":
                loads(library + ".other");
                break;
            case "churn":
                System.out.println("ready");
                while (!new File("end").exists()) {
                    loads(library + ".other");
                    balancedThreads(20, 1, 64);
                }
                break;
            case "sleep":
                Thread.sleep(11_000);
                break;
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    /** No burst: a profile may lose samples in one. */
    static void leaks() throws InterruptedException {
        for (int round = 0; round < 100; round++) {
            leak(10_000, 64);
            Thread.sleep(1);
        }
    }

    static void balances() throws InterruptedException {
        for (int round = 0; round < 100; round++) {
            balance(2_000, 64);
            balance(2_000, 640);
            Thread.sleep(10);
        }
    }

    static void grows() throws InterruptedException {
        for (int round = 0; round < 100; round++) {
            grow(100);
            Thread.sleep(1);
        }
    }

    static void inflaters() throws DataFormatException {
        byte[] packed = new byte[1_000];
        Deflater deflater = new Deflater();
        deflater.setInput(new byte[100_000]);
        deflater.finish();
        int length = deflater.deflate(packed);
        deflater.end();
        for (int count = 0; count < 300; count++) {
            Inflater inflater = new Inflater();
            inflater.setInput(packed, 0, length);
            inflater.inflate(new byte[50_000]);
            kept.add(inflater);
        }
    }

    static void first() {
        for (int count = 0; count < 40; count++) {
            kept.add(ByteBuffer.allocateDirect(1 << 20));
        }
    }

    static void second() {
        for (int count = 0; count < 1_280; count++) {
            kept.add(ByteBuffer.allocateDirect(8 << 10));
        }
    }

    static void third(Unsafe unsafe) {
        for (int count = 0; count < 20; count++) {
            unsafe.allocateMemory(1 << 20);
        }
    }

    static void fourth(Unsafe unsafe) {
        for (int count = 0; count < 10_240; count++) {
            unsafe.allocateMemory(1 << 10);
        }
    }

    static Unsafe unsafe() throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }

    static void loads(String path) throws InterruptedException {
        List<Thread> threads = new ArrayList<>();
        for (int number = 0; number < 4; number++) {
            Thread thread = new Thread(() -> {
                if (load(path, 500) != 500) {
                    System.out.println("not loaded");
                }
            });
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
