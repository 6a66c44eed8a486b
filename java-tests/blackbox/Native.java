import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;

/** Takes 1 GB outside the Java heap, 8 MB at a time, in about ten seconds; the Java heap stays as it is. */
public class Native {
    public static void main(String[] arguments) throws Exception {
        List<ByteBuffer> all = new ArrayList<>();
        for (int number = 0; number < 128; number++) {
            ByteBuffer buffer = ByteBuffer.allocateDirect(8 << 20);
            for (int place = 0; place < buffer.capacity(); place += 4096) {
                buffer.put(place, (byte) 1);
            }
            all.add(buffer);
            Thread.sleep(80);
        }
        System.out.println("took " + all.size());
    }
}
