import com.squareup.haha.perflib.ArrayInstance;
import com.squareup.haha.perflib.ClassInstance;
import com.squareup.haha.perflib.Heap;
import com.squareup.haha.perflib.HprofParser;
import com.squareup.haha.perflib.Instance;
import com.squareup.haha.perflib.Snapshot;
import com.squareup.haha.perflib.StackTrace;
import com.squareup.haha.perflib.Type;
import com.squareup.haha.perflib.io.MemoryMappedFileBuffer;
import java.io.File;
import java.lang.reflect.Field;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;

/** Reads a heap dump with HAHA, which shows where each object was allocated. */
public class ReadHaha {
    public static void main(String[] args) throws Exception {
        Snapshot snapshot = new HprofParser(new MemoryMappedFileBuffer(new File(args[0]))).parse();
        Map<String, Long> counts = new TreeMap<>();
        for (Heap heap : snapshot.getHeaps()) {
            for (Instance instance : heap.getInstances()) {
                counts.merge(nameOfClass(instance), 1L, Long::sum);
            }
        }
        counts.forEach((name, count) -> System.out.println("class " + name + " " + count));

        Instance known = null;
        for (var each : snapshot.findClass("Known").getStaticFieldValues().entrySet()) {
            if (each.getKey().getName().equals("KNOWN")) {
                known = (Instance) each.getValue();
            }
        }
        Object[] values = ((ArrayInstance) field(known, "values")).getValues();
        Object[] items = ((ArrayInstance) field(known, "items")).getValues();
        Object[] text = ((ArrayInstance) field((Instance) field(known, "text"), "value")).getValues();
        StringBuilder string = new StringBuilder();
        for (Object unit : text) {
            string.append((char) ((Number) unit).intValue());
        }
        System.out.println("known number=" + field(known, "number")
                + " wide=" + field(known, "wide")
                + " half=" + field(known, "half")
                + " yes=" + field(known, "yes")
                + " text=" + string
                + " values=" + Arrays.toString(values)
                + " items=" + items.length);
        System.out.println("roots " + snapshot.getGCRoots().size());
        System.out.println("trace " + trace(known));
        System.out.println("trace " + trace((Instance) items[0]));
    }

    /** HAHA looks for the class of a primitive array under the name that Android gives it. */
    private static String nameOfClass(Instance instance) {
        if (instance instanceof ArrayInstance && ((ArrayInstance) instance).getArrayType() != Type.OBJECT) {
            return ((ArrayInstance) instance).getArrayType().name().toLowerCase() + "[]";
        }
        return instance.getClassObj().getClassName();
    }

    private static Object field(Instance instance, String name) {
        for (ClassInstance.FieldValue value : ((ClassInstance) instance).getValues()) {
            if (value.getField().getName().equals(name)) {
                return value.getValue();
            }
        }
        throw new AssertionError(name);
    }

    /** HAHA shows the stack in its own window only; its fields are not public. */
    private static String trace(Instance instance) throws Exception {
        Field stack = Instance.class.getDeclaredField("mStack");
        stack.setAccessible(true);
        Field frames = StackTrace.class.getDeclaredField("mFrames");
        frames.setAccessible(true);
        return Arrays.toString((Object[]) frames.get(stack.get(instance)));
    }
}
