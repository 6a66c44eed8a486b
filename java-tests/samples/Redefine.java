import java.lang.instrument.Instrumentation;
import java.security.ProtectionDomain;
import java.util.ArrayList;
import java.util.List;

/** A Java agent that redefines the classes of Churn.java with what they are already. */
public class Redefine {
    static Instrumentation instrumentation;

    public static void premain(String options, Instrumentation vm) {
        instrumentation = vm;
        vm.addTransformer(new java.lang.instrument.ClassFileTransformer() {
            @Override public byte[] transform(
                    ClassLoader loader, String name, Class<?> before, ProtectionDomain domain, byte[] bytes) {
                return before == null ? null : bytes;
            }
        }, true);
    }

    public static void all() throws Exception {
        if (instrumentation == null) throw new ReflectiveOperationException("the agent is not loaded");
        List<Class<?>> classes = new ArrayList<>();
        for (Class<?> loaded : instrumentation.getAllLoadedClasses()) {
            if (loaded.getName().startsWith("Churn")) classes.add(loaded);
        }
        instrumentation.retransformClasses(classes.toArray(new Class<?>[0]));
    }
}
