import java.io.File;
import java.util.Iterator;
import java.util.List;
import java.util.TreeMap;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.Instance;
import org.netbeans.lib.profiler.heap.JavaClass;
import org.netbeans.lib.profiler.heap.ObjectArrayInstance;
import org.netbeans.lib.profiler.heap.PrimitiveArrayInstance;
import org.netbeans.lib.profiler.heap.ThreadObjectGCRoot;

/** Reads a heap dump with NetBeans' heap library, which VisualVM uses, or with gridkit's, which has the same interface. */
public class ReadHeapLibrary {
    public static void main(String[] args) throws Exception {
        Heap heap = HeapFactory.createHeap(new File(args[0]));
        TreeMap<String, Long> counts = new TreeMap<>();
        for (Object each : heap.getAllClasses()) {
            JavaClass javaClass = (JavaClass) each;
            if (javaClass.getInstancesCount() > 0) {
                counts.merge(javaClass.getName(), (long) javaClass.getInstancesCount(), Long::sum);
            }
        }
        counts.forEach((name, count) -> System.out.println("class " + name + " " + count));

        Instance known = (Instance) heap.getJavaClassByName("Known").getValueOfStaticField("KNOWN");
        List<?> values = ((PrimitiveArrayInstance) known.getValueOfField("values")).getValues();
        List<?> items = ((ObjectArrayInstance) known.getValueOfField("items")).getValues();
        System.out.println("known number=" + known.getValueOfField("number")
                + " wide=" + known.getValueOfField("wide")
                + " half=" + known.getValueOfField("half")
                + " yes=" + known.getValueOfField("yes")
                + " text=" + text((Instance) known.getValueOfField("text"))
                + " values=" + values
                + " items=" + items.size());
        System.out.println("roots " + heap.getGCRoots().size());
        for (Object root : heap.getGCRoots()) {
            if (root instanceof ThreadObjectGCRoot) {
                StackTraceElement[] trace = ((ThreadObjectGCRoot) root).getStackTrace();
                for (StackTraceElement frame : trace == null ? new StackTraceElement[0] : trace) {
                    System.out.println("frame " + frame);
                }
            }
        }
    }

    private static String text(Instance string) {
        StringBuilder text = new StringBuilder();
        for (Object unit : ((PrimitiveArrayInstance) string.getValueOfField("value")).getValues()) {
            text.append((char) Integer.parseInt((String) unit));
        }
        return text.toString();
    }
}
