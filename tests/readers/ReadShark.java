import java.io.File;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import kotlin.sequences.Sequence;
import shark.HeapObject.HeapClass;
import shark.HeapObject.HeapInstance;
import shark.HprofHeapGraph;
import shark.HprofIndex;
import shark.HprofRecord.HeapDumpRecord.ObjectRecord.PrimitiveArrayDumpRecord.IntArrayDump;

/** Reads a heap dump with Shark: counts the objects of each class, and finds the known one. */
public class ReadShark {
    public static void main(String[] args) {
        var roots = HprofIndex.Companion.defaultIndexedGcRootTags();
        try (var graph = HprofHeapGraph.Companion.openHeapGraph(new File(args[0]), null, roots)) {
            Map<String, Long> counts = new TreeMap<>();
            graph.getInstances().iterator().forEachRemaining(i -> counts.merge(i.getInstanceClassName(), 1L, Long::sum));
            graph.getObjectArrays().iterator().forEachRemaining(a -> counts.merge(a.getArrayClassName(), 1L, Long::sum));
            graph.getPrimitiveArrays().iterator().forEachRemaining(a -> counts.merge(a.getArrayClassName(), 1L, Long::sum));
            counts.forEach((name, count) -> System.out.println("class " + name + " " + count));

            HeapInstance known = graph.findClassByName("Known").readStaticField("KNOWN").getValueAsInstance();
            IntArrayDump values = (IntArrayDump) known.get("Known", "values").getValueAsPrimitiveArray().readRecord();
            int items = 0;
            for (Iterator<?> i = known.get("Known", "items").getValueAsObjectArray().readElements().iterator(); i.hasNext(); i.next()) {
                items++;
            }
            System.out.println("known number=" + known.get("Known", "number").getValue().getAsInt()
                    + " wide=" + known.get("Known", "wide").getValue().getAsLong()
                    + " half=" + known.get("Known", "half").getValue().getAsDouble()
                    + " yes=" + known.get("Known", "yes").getValue().getAsBoolean()
                    + " text=" + known.get("Known", "text").getValue().readAsJavaString()
                    + " values=" + java.util.Arrays.toString(values.getArray())
                    + " items=" + items);
            System.out.println("roots " + graph.getGcRoots().size());
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }
}
