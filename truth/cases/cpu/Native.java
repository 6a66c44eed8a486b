import java.util.Random;
import java.util.zip.Deflater;
import java.util.zip.Inflater;

/** Native code, intrinsics, allocation, lambdas, exceptions and strings, each charged to the method that asks for it. */
public class Native {
    static final byte[] PLAIN = new byte[1 << 18];
    static final byte[] PACKED = new byte[1 << 19];
    static final byte[] COPY = new byte[1 << 18];
    static int packed;

    static void inflate() {
        try {
            Inflater inflater = new Inflater();
            inflater.setInput(PACKED, 0, packed);
            Truth.sink = inflater.inflate(COPY);
            inflater.end();
        } catch (java.util.zip.DataFormatException e) {
            throw new IllegalStateException(e);
        }
    }

    static void copy() {
        for (int i = 0; i < 60; i++) System.arraycopy(PLAIN, 0, COPY, i, PLAIN.length - 100);
    }

    static void allocate() {
        long sum = 0;
        for (int i = 0; i < 20_000; i++) sum += new int[16 + i % 7].length;
        Truth.sink = sum;
    }

    static void lambdas() {
        Truth.sink = java.util.stream.IntStream.range(0, 60_000).filter(i -> i % 3 != 0).mapToDouble(i -> i * 0.5).sum();
    }

    static void fail(int depth) {
        if (depth == 0) throw new IllegalStateException("known");
        fail(depth - 1);
    }

    static void exceptions() {
        for (int i = 0; i < 150; i++) {
            try {
                fail(20);
            } catch (IllegalStateException e) {
                Truth.sink = i;
            }
        }
    }

    static void strings() {
        StringBuilder text = new StringBuilder();
        for (int i = 0; i < 12_000; i++) text.append(i).append(' ');
        Truth.sink = text.toString().hashCode();
    }

    public static void main(String[] args) {
        Random random = new Random(1);
        for (int i = 0; i < PLAIN.length; i++) PLAIN[i] = (byte) random.nextInt(20);
        Deflater deflater = new Deflater();
        deflater.setInput(PLAIN);
        deflater.finish();
        packed = deflater.deflate(PACKED);
        Truth.run(8_000,
            new String[] {"Native.inflate", "Native.copy", "Native.allocate", "Native.lambdas", "Native.exceptions", "Native.strings"},
            Native::inflate, Native::copy, Native::allocate, Native::lambdas, Native::exceptions, Native::strings);
        Truth.print();
    }
}
