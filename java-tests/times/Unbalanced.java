import java.lang.reflect.Method;

/**
 * Calls the exit of a leaf more often than its entry, as an exception from another thread may have it called, on a thread that is in no method that
 * is counted. Known answer: `leaf` is called 1,000 times; prints `ended`.
 */
public class Unbalanced {
    public static class Counted {
        int value = 1;

        int leaf() { return value; }
    }

    public static void main(String[] args) throws Exception {
        Class<?> hooks = Class.forName("java.lang.HprofCounter");
        Method entry = hooks.getMethod("leafEntry", int.class);
        Method exit = hooks.getMethod("leafExit", long.class);
        Counted counted = new Counted();
        int sum = 0;
        for (int i = 0; i < 1_000; i++) {
            sum += counted.leaf();
            // Whatever method has this number.
            long slot = (long) entry.invoke(null, 0);
            for (int j = 0; j < 3; j++) exit.invoke(null, slot);
        }
        System.out.println(sum == 1_000 ? "ended" : "wrong");
    }
}
