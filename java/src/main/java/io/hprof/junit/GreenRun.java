package io.hprof.junit;

import io.hprof.Site;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardCopyOption;
import java.time.LocalDateTime;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

/**
 * The file of the last run of a test within its limit: a profile in HPROF's text format, which {@code hprof} reads.
 *
 * <p>It is in the folder that the parameter {@code hprof.limits} names, in {@code target/hprof} of a Maven project or
 * {@code build/hprof} of a Gradle project; elsewhere there is none.
 */
final class GreenRun {
    private static final String FOLDER = "hprof.limits";
    private static final DateTimeFormatter DATE = DateTimeFormatter.ofPattern("EEE MMM dd HH:mm:ss yyyy", Locale.ROOT);
    private static final int FIRST_TRACE = 300001;

    /** Null if there is no folder for it. */
    private final Path file;

    /** {@code limit} counts the limits of the test from 0. */
    GreenRun(TestRun test, int limit) {
        String name = test.fileName();
        if (limit > 0) {
            name = name.replaceFirst("\\.txt$", "-limit" + (limit + 1) + ".txt");
        }
        Path folder = test.parameter(FOLDER).map(Paths::get).orElseGet(GreenRun::usualFolder);
        file = folder == null ? null : folder.resolve(name).toAbsolutePath();
    }

    private static Path usualFolder() {
        for (String output : List.of("target", "build")) {
            if (Files.isDirectory(Paths.get(output))) {
                return Paths.get(output, "hprof");
            }
        }
        return null;
    }

    /** Returns what stands for a site: its class and methods, without lines, which change with each edit. */
    static String key(Site site) {
        StringBuilder key = new StringBuilder(site.className());
        for (String frame : site.trace()) {
            key.append('\n').append(frame, 0, frame.indexOf('(') < 0 ? frame.length() : frame.indexOf('('));
        }
        return key.toString();
    }

    /** Returns the objects by {@link #key}; null if there was no such run. */
    Map<String, Long> objects() {
        if (file == null || !Files.isReadable(file)) {
            return null;
        }
        try {
            Map<String, Long> objects = new HashMap<>();
            for (Site site : parse(Files.readAllLines(file))) {
                objects.merge(key(site), site.objects(), Long::sum);
            }
            return objects;
        } catch (IOException | RuntimeException unreadable) {
            System.err.println("hprof: " + file + " cannot be read: " + unreadable);
            return null;
        }
    }

    /** Keeps the sites for comparisons. A file that cannot be written does not fail the test. */
    void save(List<Site> sites) {
        if (file == null) {
            return;
        }
        try {
            String profile = profile(sites);
            if (Files.isReadable(file) && undated(Files.readString(file)).equals(undated(profile))) {
                return;
            }
            Files.createDirectories(file.getParent());
            Path whole = Files.createTempFile(file.getParent(), "hprof-", ".new");
            Files.writeString(whole, profile);
            Files.move(whole, file, StandardCopyOption.REPLACE_EXISTING, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException | SecurityException error) {
            System.err.println("hprof: " + file + " cannot be written: " + error);
        }
    }

    private static String undated(String profile) {
        return profile.replaceAll("(?m)^(JAVA PROFILE|SITES BEGIN).*$", "$1");
    }

    private static String profile(List<Site> sites) {
        String now = DATE.format(LocalDateTime.now());
        StringBuilder text = new StringBuilder("JAVA PROFILE 1.0.1, created " + now + "\n\n--------\n\n");
        int trace = FIRST_TRACE;
        for (Site site : sites) {
            text.append("TRACE ").append(trace++).append(":\n");
            for (String frame : site.trace().isEmpty() ? List.of("<empty>") : site.trace()) {
                text.append('\t').append(frame).append('\n');
            }
        }
        text.append("SITES BEGIN (ordered by allocated bytes) ").append(now).append('\n');
        text.append("          percent          live          alloc'ed  stack class\n");
        text.append(" rank   self  accum     bytes objs     bytes  objs trace name\n");
        long all = Math.max(1, sites.stream().mapToLong(Site::bytes).sum());
        long accumulated = 0;
        for (int i = 0; i < sites.size(); i++) {
            Site site = sites.get(i);
            accumulated += site.bytes();
            text.append(String.format(Locale.ROOT, "%5d %5.2f%% %5.2f%% %9d %4d %9d %5d %5d %s\n", i + 1,
                    site.bytes() * 100.0 / all, accumulated * 100.0 / all, 0, 0, site.bytes(), site.objects(),
                    FIRST_TRACE + i, site.className()));
        }
        return text.append("SITES END\n").toString();
    }

    private static List<Site> parse(List<String> lines) {
        Map<String, List<String>> traces = new HashMap<>();
        List<Site> sites = new ArrayList<>();
        List<String> frames = null;
        boolean inSites = false;
        for (String line : lines) {
            if (line.startsWith("TRACE ")) {
                frames = new ArrayList<>();
                traces.put(line.substring("TRACE ".length(), line.indexOf(':')), frames);
            } else if (line.startsWith("\t") && frames != null) {
                frames.add(line.substring(1));
            } else if (line.startsWith("SITES ")) {
                inSites = line.startsWith("SITES BEGIN");
            } else if (inSites) {
                // rank, self, accumulated, live bytes and objects, allocated bytes and objects, trace, class
                String[] row = line.trim().split("\\s+", 9);
                if (row.length == 9 && traces.containsKey(row[7])) {
                    sites.add(new Site(row[8], Long.parseLong(row[6]), Long.parseLong(row[5]), traces.get(row[7])));
                }
            }
        }
        return sites;
    }

    /** Returns the file's path. */
    @Override
    public String toString() {
        return String.valueOf(file);
    }
}
