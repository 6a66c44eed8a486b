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
import java.util.function.Predicate;
import java.util.stream.Collectors;

/** The allocations of a benchmark method: the rows of a profile's last SITES whose trace goes through its call. */
final class Sites {
    /** By class and the line of the benchmark's own code that allocates, or calls code that does. */
    private final Map<String, Count> counts = new HashMap<>();

    private Sites() {}

    private static final class Count {
        private long objects;
        private long bytes;

        private void add(long objects, long bytes) {
            this.objects += objects;
            this.bytes += bytes;
        }
    }

    /**
     * Reads the text that the agent has written.
     *
     * @param benchmark the benchmark's full name, {@code org.example.Parsing.parse}
     * @param isOwn tells a frame of the user's own code from others
     */
    static Sites read(Path profile, String benchmark, Predicate<String> isOwn) throws IOException {
        Map<String, String> places = new HashMap<>();
        Sites sites = new Sites();
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
                    String place = place(benchmark, frames, isOwn);
                    if (place != null) {
                        places.put(number, place);
                    }
                    continue;
                }
                if (line.startsWith("SITES BEGIN")) {
                    sites.counts.clear();
                    inSites = true;
                } else if (line.startsWith("SITES END")) {
                    inSites = false;
                } else if (inSites) {
                    sites.add(line.trim().split("\\s+", 9), places);
                }
                line = lines.readLine();
            }
        }
        return sites;
    }

    /** The columns: rank, self, accumulated, live bytes and objects, allocated bytes and objects, trace, class. */
    private void add(String[] row, Map<String, String> places) {
        if (row.length == 9 && places.containsKey(row[7])) {
            count(row[8] + " " + places.get(row[7])).add(Long.parseLong(row[6]), Long.parseLong(row[5]));
        }
    }

    private Count count(String site) {
        return counts.computeIfAbsent(site, key -> new Count());
    }

    /**
     * Returns the innermost frame of the user's own code, if the frame above JMH's generated caller of the
     * benchmark is the benchmark's method, not a set-up; null for other stacks.
     */
    private static String place(String benchmark, List<String> frames, Predicate<String> isOwn) {
        String method = benchmark.substring(benchmark.lastIndexOf('.'));
        for (int i = 1; i < frames.size(); i++) {
            if (frames.get(i).contains("_jmhTest.") && frames.get(i).contains("_jmhStub")) {
                if (!frames.get(i - 1).split("\\(", 2)[0].endsWith(method)) {
                    return null;
                }
                List<String> above = frames.subList(0, i);
                return above.stream().filter(isOwn).findFirst().orElse(frames.get(i - 1));
            }
        }
        return null;
    }

    /** Returns the allocations since {@code before}; all of them if that is null. */
    Sites since(Sites before) {
        Sites since = new Sites();
        counts.forEach((site, count) -> since.count(site).add(count.objects, count.bytes));
        if (before != null) {
            before.counts.forEach((site, count) -> since.count(site).add(-count.objects, -count.bytes));
        }
        return since;
    }

    long objects() {
        return counts.values().stream().mapToLong(count -> count.objects).sum();
    }

    long bytes() {
        return counts.values().stream().mapToLong(count -> count.bytes).sum();
    }

    long objects(String site) {
        return count(site).objects;
    }

    long bytes(String site) {
        return count(site).bytes;
    }

    /** Returns the {@code most} sites with the most bytes, largest first. */
    List<String> costliest(int most) {
        Comparator<String> byBytes = Comparator.comparingLong(site -> -counts.get(site).bytes);
        return counts.keySet().stream().sorted(byBytes.thenComparing(Comparator.naturalOrder())).limit(most)
                .collect(Collectors.toList());
    }
}
