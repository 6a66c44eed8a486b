/** Makes HotSpot discard all compiled code, and the frames of it, by the interface that its own tests use. */
public class Discard {
    public static void all() throws Exception {
        Class<?> box;
        try {
            box = Class.forName("jdk.test.whitebox.WhiteBox");
            box.getMethod("discard").invoke(null);
        } catch (ReflectiveOperationException | LinkageError e) {
            box = Class.forName("sun.hotspot.WhiteBox");
            box.getMethod("discard").invoke(null);
        }
    }
}
