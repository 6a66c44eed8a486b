import io.hprof.Agent;
import io.hprof.Hprof;

/** Counts beside the profile that the first argument describes, and prints the answer. */
public class Beside {
    public static void main(String[] args) throws Exception {
        Agent.start(args[0]);
        try {
            System.out.println("counted " + Hprof.count().objects());
        } catch (IllegalStateException refused) {
            System.out.println("refused: " + refused.getMessage());
        }
        Agent.stop();
        System.out.println("alone " + Hprof.count().objects());
        Agent.stop();
    }
}
