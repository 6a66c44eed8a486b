/** What is allocated, what becomes garbage, what stays? Known to the object and the byte. */
// vm: -Xms256m
// asks: alloc lifetimes
public final class Makes {
    static final class Kept {
        long a;
    }

    static final class Dropped {
        long a, b;
    }

    private static final Object[] KEPT = new Object[10_000];

    static void keep() {
        for (int i = 0; i < KEPT.length; i++) KEPT[i] = new Kept();
    }

    static void drop() {
        for (int i = 0; i < 30_000; i++) Truth.kept = new Dropped();
        Truth.kept = null;
    }

    static void buffer() {
        for (int i = 0; i < 8; i++) Truth.kept = new byte[100_000];
        Truth.kept = null;
    }

    public static void main(String[] args) throws InterruptedException {
        // Loads the classes, so that no method is charged with that.
        Truth.kept = new Object[] {new Kept(), new Dropped()};
        keep();
        drop();
        buffer();
        // What a collection has left is looked at after it, and the program's end would be another one.
        System.gc();
        Thread.sleep(1_500);
        Truth.allocated("Makes.keep", "Makes$Kept", 10_000, Truth.object(8, 0));
        Truth.live("Makes.keep", "Makes$Kept", 10_000, Truth.object(8, 0));
        Truth.allocated("Makes.drop", "Makes$Dropped", 30_000, Truth.object(16, 0));
        Truth.live("Makes.drop", "Makes$Dropped", 0, Truth.object(16, 0));
        Truth.allocated("Makes.buffer", "byte[]", 8, Truth.array(100_000));
        Truth.say("temporary_objects", "Makes.drop", "Makes$Dropped", 30_000);
        Truth.say("temporary_bytes", "Makes.drop", "Makes$Dropped", 30_000 * Truth.object(16, 0));
    }
}
