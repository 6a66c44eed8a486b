import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import javax.tools.ToolProvider;

/** Compiles all programs below a folder that do not need a newer Java, so many times: arguments FOLDER, OUTPUT, TIMES. */
public class Compile {
    public static void main(String[] args) throws Exception {
        List<String> command = new ArrayList<>(List.of("-nowarn", "-proc:none", "-d", args[1]));
        try (Stream<Path> files = Files.walk(Path.of(args[0]))) {
            for (Path file : (Iterable<Path>) files.sorted()::iterator) {
                if (file.toString().endsWith(".java") && !Files.readString(file).startsWith("// needs")) command.add(file.toString());
            }
        }
        for (int i = Integer.parseInt(args[2]); i > 0; i--) {
            int failed = ToolProvider.getSystemJavaCompiler().run(null, null, null, command.toArray(String[]::new));
            if (failed != 0) System.exit(failed);
        }
    }
}
