package io.hprof;

import java.io.IOException;
import java.util.ArrayList;
import java.util.List;

/** {@code java -jar hprof.jar}: runs the command {@code hprof} from the jar, with any arguments. */
public final class Main {
    private Main() {}

    /** Runs the command and exits with its status. */
    public static void main(String[] arguments) throws InterruptedException {
        try {
            System.exit(run(arguments));
        } catch (IOException error) {
            System.err.println("hprof: " + error.getMessage());
            System.exit(1);
        }
    }

    private static int run(String[] arguments) throws IOException, InterruptedException {
        if (arguments.length == 2 && arguments[0].equals("agent-path")) {
            System.out.println(Bundle.of(arguments[1]).library());
            return 0;
        }
        List<String> command = new ArrayList<>();
        command.add(Bundle.ofThisVm().command().toString());
        command.addAll(List.of(arguments));
        return new ProcessBuilder(command).inheritIO().start().waitFor();
    }
}
