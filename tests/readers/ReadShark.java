import java.io.File;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import kotlin.sequences.Sequence;
import shark.HeapAnalysis;
import shark.HeapAnalysisSuccess;
import shark.HeapAnalyzer;
import shark.HeapObject.HeapClass;
import shark.HeapObject.HeapInstance;
import shark.HeapGraph;
import shark.HprofHeapGraph;
import shark.HprofIndex;
import shark.LeakTrace;
import shark.LeakingObjectFinder;
import shark.MetadataExtractor;
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
            printLeaks(new File(args[0]), graph);
        } catch (java.io.IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    /** What keeps the known leak alive, from the root on. */
    static void printLeaks(File dump, HeapGraph graph) {
        LeakingObjectFinder finder = heap -> Set.of(heap.findClassByName("Known$Leaked").getInstances().iterator().next().getObjectId());
        HeapAnalysis analysis = new HeapAnalyzer(step -> { }).analyze(dump, graph, finder, List.of(), false, List.of(),
                MetadataExtractor.Companion.getNO_OP());
        for (var leak : ((HeapAnalysisSuccess) analysis).getApplicationLeaks()) {
            for (LeakTrace trace : leak.getLeakTraces()) {
                StringBuilder line = new StringBuilder("leak " + trace.getGcRootType());
                for (var reference : trace.getReferencePath()) {
                    line.append(' ').append(reference.getOriginObject().getClassName()).append(' ').append(reference.getReferenceDisplayName());
                }
                System.out.println(line + " " + trace.getLeakingObject().getClassName());
            }
        }
    }
}
