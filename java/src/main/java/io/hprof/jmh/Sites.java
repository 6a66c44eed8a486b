package io.hprof.jmh;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** What a benchmark method allocates: those rows of a profile's last SITES whose trace goes through its call. */
final class Sites {
    private final List<Site> sites = new ArrayList<>();

    private Sites() {}

    /** One site, with what was allocated there. */
    static final class Site {
        private final String type;
        private final String place;
        private long objects;
        private long bytes;

        private Site(String type, String place) {
            this.type = type;
            this.place = place;
        }

        long objects() {
            return objects;
        }

        long bytes() {
            return bytes;
        }

        @Override
        public String toString() {
            return type + " " + place;
        }
    }

    /**
     * Reads the text that the agent has written.
     *
     * @param benchmark the benchmark's full name, {@code org.example.Parsing.parse}
     */
    static Sites read(Path profile, String benchmark) throws IOException {
        Map<String, String> places = new HashMap<>();
        Map<String, Site> found = new HashMap<>();
        try (BufferedReader lines = Files.newBufferedReader(profile, StandardCharsets.UTF_8)) {
            boolean inSites = false;
            String line = lines.readLine();
            while (line != null) {
                if (line.startsWith("TRACE ")) {
                    String number = line.substring("TRACE ".length(), line.indexOf(':'));
                    List<String> frames = new ArrayList<>();
                    for (line = lines.readLine(); line != null && line.startsWith("\t"); line = lines.readLine()) {
                        frames.add(line.trim());
                    }
                    if (isOf(benchmark, frames)) {
                        places.put(number, frames.get(0));
                    }
                    continue;
                }
                if (line.startsWith("SITES BEGIN")) {
                    found.clear();
                    inSites = true;
                } else if (line.startsWith("SITES END")) {
                    inSites = false;
                } else if (inSites) {
                    add(line.trim().split("\\s+", 9), places, found);
                }
                line = lines.readLine();
            }
        }
        Sites sites = new Sites();
        sites.sites.addAll(found.values());
        sites.sites.sort(Comparator.comparingLong(Site::bytes).reversed().thenComparing(Site::toString));
        return sites;
    }

    /** The columns: rank, self, accumulated, live bytes and objects, allocated bytes and objects, trace, class. */
    private static void add(String[] row, Map<String, String> places, Map<String, Site> found) {
        if (row.length < 9 || !places.containsKey(row[7])) {
            return;
        }
        Site site = found.computeIfAbsent(row[8] + " " + places.get(row[7]), key -> new Site(row[8], places.get(row[7])));
        site.bytes += Long.parseLong(row[5]);
        site.objects += Long.parseLong(row[6]);
    }

    /** Whether the frame above JMH's generated caller of the benchmark is the benchmark's method, not a set-up. */
    private static boolean isOf(String benchmark, List<String> frames) {
        String method = benchmark.substring(benchmark.lastIndexOf('.'));
        for (int i = 1; i < frames.size(); i++) {
            if (frames.get(i).contains("_jmhTest.") && frames.get(i).contains("_jmhStub")) {
                return frames.get(i - 1).split("\\(", 2)[0].endsWith(method);
            }
        }
        return false;
    }

    long objects() {
        return sites.stream().mapToLong(Site::objects).sum();
    }

    long bytes() {
        return sites.stream().mapToLong(Site::bytes).sum();
    }

    List<Site> costliest(int count) {
        return sites.subList(0, Math.min(count, sites.size()));
    }
}
