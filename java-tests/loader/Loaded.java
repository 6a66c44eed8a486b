import java.io.File;
import java.util.List;

/**
 * Run with -Djava.system.class.loader=Loader.
 *
 * Truth: prints `ready`, allocates and waits for at least 1.5 s, and until there is a file `end` in the working folder if
 * it has an argument; then it prints what the loader was asked for by threads that run no other Java code, and `asked` with how often
 * that was.
 */
public class Loaded {
    static volatile Object kept;

    public static void main(String[] arguments) throws Exception {
        System.out.println("ready");
        long end = System.nanoTime() + 1_500_000_000L;
        while (System.nanoTime() < end || arguments.length > 0 && !new File("end").exists()) {
            kept = new byte[10_000];
            Thread.sleep(1);
        }
        List<?> asked = (List<?>) Class.forName("Loader", false, ClassLoader.getSystemClassLoader().getParent())
                .getDeclaredField("asked").get(null);
        for (Object request : asked.toArray()) {
            System.out.println(request);
        }
        System.out.println("asked " + asked.size());
    }
}
