import java.io.IOException;
import java.net.URI;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/**
 * Loads and links many classes, without initializing them, and prints a line for each: its name and `ok`, or what was
 * thrown. `LoadAll --jdk` takes every class of the running JDK, `LoadAll FOLDER JAR...` every class file in a folder, and
 * finds what these refer to in the jars.
 */
public class LoadAll {
    public static void main(String[] arguments) throws Exception {
        boolean jdk = arguments[0].equals("--jdk");
        Path folder = jdk ? FileSystems.getFileSystem(URI.create("jrt:/")).getPath("/modules") : Path.of(arguments[0]);
        ClassLoader loader = jdk
                ? ClassLoader.getSystemClassLoader()
                : new URLClassLoader(places(arguments), ClassLoader.getPlatformClassLoader());
        StringBuilder lines = new StringBuilder();
        for (String name : names(folder, jdk ? 1 : 0)) {
            lines.append(name).append(' ').append(outcome(name, loader)).append('\n');
        }
        System.out.print(lines);
    }

    static URL[] places(String[] arguments) throws IOException {
        URL[] places = new URL[arguments.length];
        for (int i = 0; i < places.length; i++) {
            places[i] = Path.of(arguments[i]).toUri().toURL();
        }
        return places;
    }

    /** The names of the classes in a tree; the first `skip` folders of each path are not part of the name. */
    static List<String> names(Path folder, int skip) throws IOException {
        List<String> names = new ArrayList<>();
        try (Stream<Path> files = Files.walk(folder)) {
            files.map(folder::relativize).forEach(file -> {
                String path = file.toString();
                if (path.endsWith(".class") && !path.endsWith("module-info.class") && !path.startsWith("META-INF")) {
                    String name = file.subpath(skip, file.getNameCount()).toString();
                    names.add(name.substring(0, name.length() - ".class".length()).replace('/', '.'));
                }
            });
        }
        names.sort(null);
        return names;
    }

    static String outcome(String name, ClassLoader loader) {
        try {
            // Asking for the constructors links the class, and with that verifies it.
            Class.forName(name, false, loader).getDeclaredConstructors();
            return "ok";
        } catch (Throwable thrown) {
            return thrown.getClass().getName();
        }
    }
}
