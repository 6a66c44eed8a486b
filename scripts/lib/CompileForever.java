import com.google.javascript.jscomp.CommandLineRunner;

/** The Closure compiler, one compilation after the other in one process; its arguments are the compiler's. */
public final class CompileForever extends CommandLineRunner {
    private CompileForever(String[] arguments) {
        super(arguments);
        setExitCodeReceiver(code -> null);
    }

    public static void main(String[] arguments) {
        System.out.println("ready");
        while (true) {
            new CompileForever(arguments).run();
        }
    }
}
