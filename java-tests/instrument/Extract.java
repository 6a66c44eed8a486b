import java.io.IOException;
import java.net.URI;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Copies class files into a folder: `Extract --jdk TO` those of the running JDK, a folder for each module, `Extract JAR
 * TO` those of a jar.
 */
public class Extract {
    public static void main(String[] arguments) throws IOException {
        Path to = Path.of(arguments[1]);
        if (arguments[0].equals("--jdk")) {
            copy(FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules"), to);
        } else {
            try (FileSystem jar = FileSystems.newFileSystem(Path.of(arguments[0]), (ClassLoader) null)) {
                copy(jar.getPath("/"), to);
            }
        }
    }

    static void copy(Path from, Path to) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(from)) {
            files = all.filter(file -> file.toString().endsWith(".class")).collect(Collectors.toList());
        }
        for (Path file : files) {
            String name = from.relativize(file).toString();
            // Modules are not patched, and what is for other versions is not loaded by its path.
            if (!name.endsWith("module-info.class") && !name.startsWith("META-INF")) {
                Path target = to.resolve(name);
                Files.createDirectories(target.getParent());
                Files.copy(file, target);
            }
        }
    }
}
