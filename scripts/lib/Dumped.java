import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;

/** Writes a dump of a heap with a list of so many objects that nobody needs: Dumped FILE COUNT. */
class Dumped {
    static final List<Object> FORGOTTEN = new ArrayList<>();

    public static void main(String[] arguments) throws Exception {
        int count = Integer.parseInt(arguments[1]);
        for (int i = 0; i < count; i++) {
            FORGOTTEN.add(i % 2 == 0 ? new int[] {i} : "number " + i);
        }
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(arguments[0], true);
    }
}
