import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import shark.HprofHeapGraph;
import shark.HprofIndex;

/** As NetBeans.java, with Shark, LeakCanary's reader. */
public class Shark {
    static long objects(File file) throws Exception {
        var roots = HprofIndex.Companion.defaultIndexedGcRootTags();
        try (var graph = HprofHeapGraph.Companion.openHeapGraph(file, null, roots)) {
            long objects = 0;
            for (var i = graph.getObjects().iterator(); i.hasNext();) {
                var object = i.next();
                if (object.getAsClass() == null) objects++;
            }
            graph.getGcRoots().size();
            return objects;
        }
    }

    public static void main(String[] args) throws Exception {
        for (String file : Files.readAllLines(Path.of(args[0]))) Verdict.print(file, () -> objects(new File(file)));
        System.exit(0);
    }
}
