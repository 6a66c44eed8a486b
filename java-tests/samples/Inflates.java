import java.util.zip.Deflater;
import java.util.zip.Inflater;

/**
 * Known answer: much of its CPU time is spent inflating, in native code; and the collector runs again and again,
 * as thousands of arrays are thrown away. Ends when it has used as many CPU milliseconds as its argument says.
 */
public class Inflates {
    static Object[] kept = new Object[50_000];

    static void inflate(byte[] packed, int length, byte[] out) throws Exception {
        Inflater inflater = new Inflater();
        inflater.setInput(packed, 0, length);
        if (inflater.inflate(out) != out.length) throw new AssertionError();
        inflater.end();
    }

    public static void main(String[] args) throws Exception {
        byte[] data = new byte[1 << 18];
        java.util.Random random = new java.util.Random(1);
        for (int i = 0; i < data.length; i++) data[i] = (byte) random.nextInt(16);
        byte[] packed = new byte[1 << 19];
        Deflater deflater = new Deflater();
        deflater.setInput(data);
        deflater.finish();
        int length = deflater.deflate(packed);
        long most = Long.parseLong(args[0]) * 1_000_000;
        var threads = java.lang.management.ManagementFactory.getThreadMXBean();
        int at = 0;
        while (threads.getCurrentThreadCpuTime() < most) {
            for (int i = 0; i < 10; i++) inflate(packed, length, data);
            for (int i = 0; i < 50_000; i++) kept[at++ % kept.length] = new byte[100];
        }
        System.out.println("inflated");
    }
}
