package io.hprof;

import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.DirectoryStream;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.UserPrincipal;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.Locale;
import java.util.stream.Stream;

/**
 * The native files of one platform, {@code linux-x86_64-gnu}, {@code windows-x86_64} and the like: the agent's library and the command.
 *
 * <p>They are in the jar, and are extracted when they are first needed: into the folder that the system property
 * {@code hprof.folder} names, or into one in the temporary folder. It must belong to this user, and nobody else may write
 * to it.
 */
public final class Bundle {
    private final String platform;
    private final Rights rights = Rights.ofThisSystem();
    /** The folder of its files, set when one is first needed. */
    private Path folder;

    private Bundle(String platform) {
        this.platform = platform;
    }

    /** Returns the files for this VM's platform. */
    public static Bundle ofThisVm() throws IOException {
        String system = System.getProperty("os.name");
        if (system.startsWith("Windows")) {
            return of("windows-" + architecture());
        }
        if (!system.equals("Linux")) {
            throw new IOException("hprof runs on Linux and Windows alone");
        }
        return of("linux-" + architecture() + "-" + (usesMusl() ? "musl" : "gnu"));
    }

    /** Returns the files of another platform. */
    public static Bundle of(String platform) throws IOException {
        Bundle bundle = new Bundle(platform);
        if (!platform.matches("[a-z0-9_-]+") || Bundle.class.getResource(bundle.resource(bundle.libraryName())) == null) {
            throw new FileNotFoundException("this jar has nothing for " + platform);
        }
        return bundle;
    }

    /** Returns the path of the library, {@code libhprof.so} or {@code hprof.dll}, extracted. */
    public Path library() throws IOException {
        return extract(libraryName());
    }

    /** Returns the path of the command {@code hprof}, extracted; it finds the library next to it. */
    public Path command() throws IOException {
        library();
        return extract(isForWindows() ? "hprof.exe" : "hprof");
    }

    private boolean isForWindows() {
        return platform.startsWith("windows-");
    }

    private String libraryName() {
        return isForWindows() ? "hprof.dll" : "libhprof.so";
    }

    private String resource(String name) {
        return "/native/" + platform + "/" + name;
    }

    private synchronized Path extract(String name) throws IOException {
        byte[] content;
        try (InputStream in = Bundle.class.getResourceAsStream(resource(name))) {
            if (in == null) {
                throw new FileNotFoundException("this jar has no " + name + " for " + platform);
            }
            content = in.readAllBytes();
        }
        if (folder == null) {
            folder = findFolder();
        }
        Path file = folder.resolve(name);
        if (Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS) && Arrays.equals(Files.readAllBytes(file), content)) {
            return file;
        }
        // Another VM may be loading or extracting it: it must see all of it or nothing.
        Path whole = Files.createTempFile(folder, name, ".new");
        try {
            Files.write(whole, content);
            rights.restrict(whole, Files.getOwner(whole));
            return Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        } finally {
            Files.deleteIfExists(whole);
        }
    }

    private Path findFolder() throws IOException {
        String named = System.getProperty("hprof.folder");
        if (named != null) {
            return checked(Paths.get(named).toAbsolutePath());
        }
        Path temporary = Paths.get(System.getProperty("java.io.tmpdir")).toAbsolutePath();
        // The system says who its owner is, which is this user.
        Path mine = Files.createTempDirectory(temporary, "hprof-");
        try {
            return findIn(temporary, mine);
        } finally {
            Files.deleteIfExists(mine);
        }
    }

    /** Returns the folder of that path, which is created if it is missing; it must not be another user's. */
    private Path checked(Path folder) throws IOException {
        UserPrincipal user = rights.user();
        Files.createDirectories(folder, rights.ofFolder(user));
        rights.check(folder, user);
        return folder;
    }

    /** Returns a folder of this user in the temporary folder, where others may have put folders, too. */
    private Path findIn(Path temporary, Path mine) throws IOException {
        UserPrincipal user = Files.getOwner(mine);
        // On Windows the name of a user has that of the machine before it.
        String name = "hprof-" + user.getName().replaceAll(".*\\\\", "") + "-" + digest();
        Path shared = temporary.resolve(name);
        try {
            return Files.createDirectory(shared, rights.ofFolder(user));
        } catch (FileAlreadyExistsException there) {
            if (rights.isOfAlone(shared, user)) {
                return shared;
            }
        }
        // Another user has put it there. An earlier VM of this user has found that, too.
        try (DirectoryStream<Path> others = Files.newDirectoryStream(temporary, name + "-*")) {
            for (Path other : others) {
                if (rights.isOfAlone(other, user)) {
                    return other;
                }
            }
        }
        Path own = temporary.resolve(name + mine.getFileName().toString().substring("hprof".length()));
        rights.restrict(mine, user);
        return Files.move(mine, own);
    }

    /** Returns the folder, one for each version of the files: a library in use is never replaced by another. */
    private String digest() throws IOException {
        try (InputStream in = Bundle.class.getResourceAsStream(resource("SHA256"))) {
            byte[] text = in == null ? platform.getBytes() : in.readAllBytes();
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(text);
            StringBuilder hex = new StringBuilder();
            for (int i = 0; i < 8; i++) {
                hex.append(String.format("%02x", digest[i]));
            }
            return hex.toString();
        } catch (NoSuchAlgorithmException impossible) {
            throw new AssertionError(impossible);
        }
    }

    private static String architecture() {
        String name = System.getProperty("os.arch").toLowerCase(Locale.ROOT);
        return name.equals("amd64") ? "x86_64" : name;
    }

    /** Checks the files that this VM has mapped, because a system may have both C libraries installed. */
    private static boolean usesMusl() {
        try (Stream<String> maps = Files.lines(Paths.get("/proc/self/maps"))) {
            return maps.anyMatch(line -> line.contains("/ld-musl-"));
        } catch (IOException | RuntimeException unreadable) {
            return !Files.exists(Paths.get("/lib64/ld-linux-x86-64.so.2"))
                    && !Files.exists(Paths.get("/lib/ld-linux-aarch64.so.1"));
        }
    }
}
