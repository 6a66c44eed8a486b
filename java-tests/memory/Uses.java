import java.io.ByteArrayOutputStream;
import java.io.DataOutputStream;
import java.io.File;
import java.io.RandomAccessFile;
import java.lang.management.ManagementFactory;
import java.lang.management.MemoryPoolMXBean;
import java.lang.management.MemoryUsage;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.ToLongFunction;
import sun.misc.Unsafe;

/**
 * Uses a known amount of one kind of memory. It says "begun", waits for the file `go`, takes the memory, says "uses BYTES", and
 * waits until the file `end` exists. For classes it also says "commits BYTES".
 */
public class Uses {
    static final int MB = 1 << 20;
    static final List<Object> kept = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        System.gc();
        if (arguments[0].equals("classes")) {
            // The beans themselves are classes.
            ofClasses(MemoryUsage::getUsed);
        }
        System.out.println("begun");
        await("go");
        long bytes = use(arguments[0]);
        System.out.println("uses " + bytes);
        await("end");
    }

    static void await(String name) throws InterruptedException {
        while (!new File(name).exists()) {
            Thread.sleep(20);
        }
    }

    static long use(String kind) throws Exception {
        switch (kind) {
            case "heap":
                return heap();
            case "direct":
                return direct();
            case "ever":
                return ever();
            case "mapped":
                return mapped();
            case "threads":
                return threads();
            case "classes":
                return classes();
            case "blocks":
                return malloc(1_000, 100_000);
            case "fragments":
                return fragments();
            case "chunks":
                return malloc(MB, 100);
            default:
                throw new IllegalArgumentException(kind);
        }
    }

    static long heap() {
        int count = 200_000;
        for (int number = 0; number < count; number++) {
            kept.add(new byte[984]);
        }
        System.gc();
        // An array of 984 bytes takes 1,000, and the list four or eight for each.
        return count * 1_000L;
    }

    static long direct() {
        for (int number = 0; number < 250; number++) {
            small();
            large();
        }
        return 250L * (100_000 + 400_000);
    }

    /** Ever more direct buffers, 25 MB a second, and of the heap, 5 MB a second, until the process is killed. */
    static long ever() throws InterruptedException {
        long begin = System.currentTimeMillis();
        // Where no limit holds, it ends by itself.
        for (int number = 0; number < 4_000; number++) {
            large();
            small();
            // Slices own nothing.
            ByteBuffer last = (ByteBuffer) kept.get(kept.size() - 1);
            kept.add(last.slice());
            kept.add(last.duplicate());
            kept.add(new byte[100_000]);
            if (number % 50 == 0) {
                System.gc();
            }
            // On a busy machine, it catches up: the growth is even.
            long due = begin + 20L * number - System.currentTimeMillis();
            Thread.sleep(Math.max(due, 0));
        }
        return 0;
    }

    static void small() {
        kept.add(ByteBuffer.allocateDirect(100_000));
    }

    static void large() {
        kept.add(ByteBuffer.allocateDirect(400_000));
    }

    static long mapped() throws Exception {
        int bytes = 64 * MB;
        try (RandomAccessFile file = new RandomAccessFile("mapped", "rw")) {
            MappedByteBuffer buffer = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, bytes);
            for (int place = 0; place < bytes; place += 4096) {
                buffer.put(place, (byte) 1);
            }
            kept.add(buffer);
        }
        return bytes;
    }

    /** 300 threads that go down as far as their stacks reach, and stay alive. */
    static long threads() throws Exception {
        int count = 300;
        CountDownLatch deep = new CountDownLatch(count);
        for (int number = 0; number < count; number++) {
            Thread thread = new Thread(null, () -> stayDeep(deep), "deep-" + number, 2 * MB);
            thread.setDaemon(true);
            thread.start();
        }
        deep.await();
        return count;
    }

    static void stayDeep(CountDownLatch deep) {
        // Every page that a stack was on is resident until the thread ends.
        descend(5_000);
        deep.countDown();
        try {
            Thread.sleep(Long.MAX_VALUE);
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    static int descend(int frames) {
        return frames == 0 ? 0 : 1 + descend(frames - 1);
    }

    static final class Loader extends ClassLoader {
        Class<?> define(byte[] bytes) {
            return defineClass(null, bytes, 0, bytes.length);
        }
    }

    /** 20,000 classes of 50 loaders. The VM says itself what it uses for them, and what it has committed. */
    static long classes() throws Exception {
        long before = ofClasses(MemoryUsage::getUsed);
        long committedBefore = ofClasses(MemoryUsage::getCommitted);
        for (int loader = 0; loader < 50; loader++) {
            Loader defines = new Loader();
            for (int number = 0; number < 400; number++) {
                kept.add(defines.define(empty("Empty" + loader + "_" + number)));
            }
        }
        System.out.println("commits " + (ofClasses(MemoryUsage::getCommitted) - committedBefore));
        return ofClasses(MemoryUsage::getUsed) - before;
    }

    static long ofClasses(ToLongFunction<MemoryUsage> value) {
        for (MemoryPoolMXBean pool : ManagementFactory.getMemoryPoolMXBeans()) {
            // The class space, which has a pool of its own, is a part of this one.
            if (pool.getName().equals("Metaspace")) return value.applyAsLong(pool.getUsage());
        }
        throw new AssertionError("no pool for classes");
    }

    /** The file of a class without members, whose constants take some space. */
    static byte[] empty(String name) throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        DataOutputStream out = new DataOutputStream(bytes);
        int others = 50;
        out.writeInt(0xCAFEBABE);
        out.writeInt(52);
        out.writeShort(5 + others);
        out.writeByte(7);
        out.writeShort(2);
        out.writeByte(1);
        out.writeUTF(name);
        out.writeByte(7);
        out.writeShort(4);
        out.writeByte(1);
        out.writeUTF("java/lang/Object");
        for (int number = 0; number < others; number++) {
            out.writeByte(3);
            out.writeInt(number);
        }
        out.writeShort(0x21);
        out.writeShort(1);
        out.writeShort(3);
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(0);
        out.writeShort(0);
        return bytes.toByteArray();
    }

    /** Eight threads in turn free what they have allocated, but for the last block: the arena of each keeps the rest. */
    static long fragments() throws Exception {
        int threads = 8;
        int count = 25_000;
        CountDownLatch end = new CountDownLatch(1);
        for (int number = 0; number < threads; number++) {
            CountDownLatch freed = new CountDownLatch(1);
            Thread thread = new Thread(() -> {
                freeAllButTheLast(count);
                freed.countDown();
                // An arena is used again only when its thread has ended.
                awaitQuietly(end);
            });
            thread.setDaemon(true);
            thread.start();
            freed.await();
        }
        // A block of 1,000 bytes takes 1,008.
        return threads * (count - 1) * 1_008L;
    }

    static void freeAllButTheLast(int count) {
        try {
            Unsafe unsafe = unsafe();
            long[] addresses = new long[count];
            for (int number = 0; number < count; number++) {
                addresses[number] = unsafe.allocateMemory(1_000);
                unsafe.setMemory(addresses[number], 1_000, (byte) 1);
            }
            for (int number = 0; number < count - 1; number++) {
                unsafe.freeMemory(addresses[number]);
            }
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    static void awaitQuietly(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException interrupted) {
            throw new IllegalStateException(interrupted);
        }
    }

    static Unsafe unsafe() throws ReflectiveOperationException {
        Field field = Unsafe.class.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        return (Unsafe) field.get(null);
    }

    static long malloc(int size, int count) throws Exception {
        Unsafe unsafe = unsafe();
        for (int number = 0; number < count; number++) {
            long address = unsafe.allocateMemory(size);
            unsafe.setMemory(address, size, (byte) 1);
        }
        return (long) size * count;
    }
}
