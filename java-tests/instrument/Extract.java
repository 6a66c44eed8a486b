import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;

/**
 * Copies class files into a folder: `Extract --jdk TO` those of the running JDK, a folder for each module, `Extract JAR
 * TO` those of a jar.
 */
public class Extract {
    public static void main(String[] arguments) throws IOException {
        Path to = Path.of(arguments[1]);
        if (arguments[0].equals("--jdk")) {
            copyModules(FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules"), to);
        } else {
            copyJar(Path.of(arguments[0]), to);
        }
    }

    static void copyModules(Path from, Path to) throws IOException {
        List<Path> files;
        try (Stream<Path> all = Files.walk(from)) {
            files = all.filter(Files::isRegularFile).collect(Collectors.toList());
        }
        for (Path file : files) {
            try (InputStream bytes = Files.newInputStream(file)) {
                copy(from.relativize(file).toString(), bytes, to);
            }
        }
    }

    // A small JRE has no file system for jars.
    static void copyJar(Path from, Path to) throws IOException {
        try (ZipFile jar = new ZipFile(from.toFile())) {
            for (ZipEntry entry : jar.stream().collect(Collectors.toList())) {
                try (InputStream bytes = jar.getInputStream(entry)) {
                    copy(entry.getName(), bytes, to);
                }
            }
        }
    }

    static void copy(String name, InputStream bytes, Path to) throws IOException {
        // Modules are not patched, and what is for other versions is not loaded by its path.
        if (name.endsWith(".class") && !name.endsWith("module-info.class") && !name.startsWith("META-INF")) {
            Path target = to.resolve(name);
            Files.createDirectories(target.getParent());
            Files.copy(bytes, target);
        }
    }
}
