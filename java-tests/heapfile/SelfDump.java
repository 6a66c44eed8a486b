import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;

/**
 * Has the VM dump the heap, into live.hprof and, garbage included, into all.hprof. Both hold exactly 1000 objects of
 * Marker, each of which refers to the one before it and to an int[7] of its own, in one Marker[1000] under the static
 * field `markers`; and a long[100000].
 */
public class SelfDump {
    static class Base {
        int number;
        Base previous;
    }

    static class Marker extends Base {
        boolean flag = true;
        int[] numbers = new int[7];
    }

    static Marker[] markers = new Marker[1000];
    static long[] large = new long[100_000];

    public static void main(String[] arguments) throws Exception {
        Marker last = null;
        for (int i = 0; i < markers.length; i++) {
            Marker marker = new Marker();
            marker.number = i;
            marker.previous = last;
            markers[i] = marker;
            last = marker;
        }
        HotSpotDiagnosticMXBean vm = ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class);
        vm.dumpHeap("live.hprof", true);
        vm.dumpHeap("all.hprof", false);
    }
}
