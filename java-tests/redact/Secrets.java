import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * Has secrets in every kind of place, and writes a dump of itself. Every text among them contains "Zq7xK2vW", but for the
 * name of a thread, which contains "Nm4yL7sT"; every number is a repetition of the byte 0xa7.
 *
 * <pre>
 * instance fields   of every primitive type, of this class and of the one above
 * static fields     of every primitive type
 * arrays            of every primitive type, short ones and ones of 100,000 elements
 * strings           Latin, UTF-16, literals, a StringBuilder, keys and values of a map, a thread-local map
 * properties        a system property, an argument
 * threads           a thread's name
 * structure         a list of 1,000 elements of which each is "Zq7xK2vW element", a map of 10 entries
 * </pre>
 */
public class Secrets extends Above {
    static final String LITERAL = "Zq7xK2vW literal";
    static boolean staticBoolean = true;
    static byte staticByte = (byte) 0xa7;
    static char staticChar = 0xa7a7;
    static short staticShort = (short) 0xa7a7;
    static int staticInt = 0xa7a7a7a7;
    static long staticLong = 0xa7a7a7a7a7a7a7a7L;
    static float staticFloat = Float.intBitsToFloat(0xa7a7a7a7);
    static double staticDouble = Double.longBitsToDouble(0xa7a7a7a7a7a7a7a7L);
    static final Map<String, String> map = new HashMap<>();
    static final List<String> list = new ArrayList<>();
    static final List<Object> arrays = new ArrayList<>();
    static final ThreadLocal<String> local = ThreadLocal.withInitial(() -> "Zq7xK2vW thread local");

    boolean fieldBoolean = true;
    byte fieldByte = (byte) 0xa7;
    char fieldChar = 0xa7a7;
    Object between = this;
    short fieldShort = (short) 0xa7a7;
    int fieldInt = 0xa7a7a7a7;
    long fieldLong = 0xa7a7a7a7a7a7a7a7L;
    float fieldFloat = Float.intBitsToFloat(0xa7a7a7a7);
    double fieldDouble = Double.longBitsToDouble(0xa7a7a7a7a7a7a7a7L);
    String text = new String("Zq7xK2vW field".toCharArray());
    String wide = "Zq7xK2vW \u6771\u4eac";
    StringBuilder builder = new StringBuilder("Zq7xK2vW builder");

    public static void main(String[] arguments) throws Exception {
        for (int length : new int[] {7, 100_000}) {
            fillArrays(length);
        }
        for (int number = 0; number < 10; number++) {
            map.put("Zq7xK2vW key " + number, "Zq7xK2vW value " + number);
        }
        for (int number = 0; number < 1_000; number++) {
            list.add(new String("Zq7xK2vW element".toCharArray()));
        }
        System.setProperty("secret.key", "Zq7xK2vW property");
        local.get();
        arrays.add("Zq7xK2vW chars".toCharArray());
        Vault.open();
        Secrets kept = new Secrets();
        Thread thread = new Thread(() -> {
            while (true) {
                LockSupport.park();
            }
        }, "Nm4yL7sT thread");
        thread.setDaemon(true);
        thread.start();
        Path dump = Path.of("vm.hprof");
        Files.deleteIfExists(dump);
        ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(dump.toString(), true);
        System.out.println("dumped " + kept.text.length() + thread.getName().length());
    }

    static void fillArrays(int length) {
        boolean[] booleans = new boolean[length];
        byte[] bytes = new byte[length];
        char[] chars = new char[length];
        short[] shorts = new short[length];
        int[] ints = new int[length];
        long[] longs = new long[length];
        float[] floats = new float[length];
        double[] doubles = new double[length];
        for (int at = 0; at < length; at++) {
            booleans[at] = true;
            bytes[at] = staticByte;
            chars[at] = staticChar;
            shorts[at] = staticShort;
            ints[at] = staticInt;
            longs[at] = staticLong;
            floats[at] = staticFloat;
            doubles[at] = staticDouble;
        }
        arrays.addAll(List.of(booleans, bytes, chars, shorts, ints, longs, floats, doubles));
    }
}

/** What is inherited. */
class Above {
    long aboveLong = 0xa7a7a7a7a7a7a7a7L;
    Object aboveReference = "Zq7xK2vW above";
    byte aboveByte = (byte) 0xa7;
}

/** What is allocated at one place. */
class Vault {
    static Object content;

    static void open() {
        content = new String("Zq7xK2vW vault".toCharArray());
    }
}
