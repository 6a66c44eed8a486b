import java.security.Security;

/**
 * Has the VM load classes that it replaces while it loads them: those of {@code jdk.internal.event}. The objects of the
 * first ones stay in the heap until classes are next unloaded. Known answer: everything that its dump refers to is there.
 */
public class Replaced {
    public static void main(String[] args) throws Exception {
        // JDK 11 and 17, then 21 and 25.
        Security.setProperty("replaced", "yes");
        Thread.sleep(1);
        System.out.println("done");
    }
}
