import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import org.netbeans.lib.profiler.heap.Heap;
import org.netbeans.lib.profiler.heap.HeapFactory;
import org.netbeans.lib.profiler.heap.JavaClass;

/** Opens each file that is named on a line of the file given, and prints `sound COUNT` or `broken MESSAGE` of it. */
public class NetBeans {
    static long objects(File file) throws Exception {
        Heap heap = HeapFactory.createHeap(file);
        long objects = 0;
        for (Object each : heap.getAllClasses()) objects += ((JavaClass) each).getInstancesCount();
        heap.getGCRoots().size();
        return objects;
    }

    public static void main(String[] args) throws Exception {
        for (String file : Files.readAllLines(Path.of(args[0]))) Verdict.print(file, () -> objects(new File(file)));
        System.exit(0);
    }
}
