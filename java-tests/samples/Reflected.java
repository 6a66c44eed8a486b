import java.lang.reflect.Method;

/**
 * Known answer: nearly all CPU time is in `work`, which `main` calls by reflection. On JDK 11 and 17 the first such calls go through a native
 * method, as launchers' do; its frame is the interpreter's, and below everything that the program does. The argument is the number of rounds.
 */
public class Reflected {
    static int sum;

    public static void main(String[] args) throws Exception {
        Method work = Reflected.class.getMethod("work", int.class);
        work.invoke(null, Integer.parseInt(args[0]));
        System.out.println(sum);
    }

    public static void work(int rounds) {
        for (int round = 0; round < rounds; round++) {
            for (int i = 0; i < 100_000; i++) add(i);
        }
    }

    static void add(int i) {
        sum += i * 31 % 7;
    }
}
