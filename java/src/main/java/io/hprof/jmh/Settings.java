package io.hprof.jmh;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.List;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.profile.ProfilerException;

/** The user's settings after {@code -prof io.hprof.jmh.HprofProfiler:}. */
final class Settings {
    /** Deep enough that every trace of a benchmark without recursion includes the call of the benchmark method. */
    private static final String DEPTH = "128";

    /** The code that is nobody's own, unless {@code mine=} names it. */
    private static final List<String> NOT_OWN =
            List.of("java.", "javax.", "jdk.", "sun.", "com.sun.", "org.openjdk.jmh.infra.");

    private final List<String> agent = new ArrayList<>();
    private boolean external;
    private int sites = 5;
    private Path folder = Paths.get("hprof");
    /** The packages and classes of {@code mine=}; empty for all but those of the JDK and of JMH. */
    private final List<String> mine = new ArrayList<>();

    private Settings() {}

    static Settings parse(String text) throws ProfilerException {
        Settings settings = new Settings();
        for (String option : text.split("[;,]")) {
            if (!option.isEmpty()) {
                settings.take(option);
            }
        }
        settings.addDefault("cpu", "heap=sites", "heap", "monitor");
        settings.addDefault("depth", "depth=" + DEPTH, "depth");
        settings.addDefault("cutoff", "cutoff=0", "cutoff");
        settings.addDefault("verbose", "verbose=n", "verbose");
        return settings;
    }

    private void take(String option) throws ProfilerException {
        String[] parts = option.split("=", 2);
        String value = parts.length == 2 ? parts[1] : "";
        switch (parts[0]) {
            case "mode":
                if (!value.equals("internal") && !value.equals("external")) {
                    throw new ProfilerException("hprof: mode=" + value + ": must be internal|external");
                }
                external = value.equals("external");
                break;
            case "dir":
                folder = Paths.get(value);
                break;
            case "sites":
                if (!value.matches("[0-9]{1,6}")) {
                    throw new ProfilerException("hprof: sites=" + value + ": must be a number");
                }
                sites = Integer.parseInt(value);
                break;
            case "mine":
                for (String prefix : value.split(":")) {
                    String name = prefix.replaceAll("[.*]+$", "");
                    if (!name.isEmpty()) {
                        mine.add(name);
                    }
                }
                break;
            case "file":
            case "net":
            case "format":
            case "doe":
                throw new ProfilerException("hprof: " + option + ": the profile goes where dir= says, as text");
            default:
                agent.add(option);
        }
    }

    private void addDefault(String name, String option, String... others) {
        boolean given = agent.stream().anyMatch(one -> one.startsWith(name + "="));
        for (String other : others) {
            given |= agent.stream().anyMatch(one -> one.startsWith(other + "="));
        }
        if (!given) {
            agent.add(option);
        }
    }

    boolean isExternal() {
        return external;
    }

    /** Returns the number of sites that become separate results. */
    int sites() {
        return sites;
    }

    /** Returns {@code true} if a frame, {@code a.B.c(B.java:7)}, is of the user's own code. */
    boolean isOwn(String frame) {
        if (mine.isEmpty()) {
            return NOT_OWN.stream().noneMatch(frame::startsWith);
        }
        return mine.stream().anyMatch(prefix -> frame.startsWith(prefix + ".") || frame.startsWith(prefix + "$"));
    }

    /** Returns {@code true} if the profile has every allocation. */
    boolean countsSites() {
        return agent.contains("heap=sites") && agent.stream().noneMatch(option -> option.startsWith("sample="));
    }

    String agentOptions(Path profile) {
        return String.join(",", agent) + ",file=" + profile;
    }

    /** Returns a name for the next profile of a benchmark, without commas, which would end the option {@code file}. */
    Path newProfile(BenchmarkParams benchmark) throws IOException {
        StringBuilder name = new StringBuilder(benchmark.getBenchmark()).append('-').append(benchmark.getMode().shortLabel());
        for (String key : benchmark.getParamsKeys()) {
            name.append('-').append(key).append('-').append(benchmark.getParam(key));
        }
        Path home = folder.resolve(name.toString().replaceAll("[^A-Za-z0-9._-]", "_")).toAbsolutePath();
        Files.createDirectories(home);
        for (int fork = 1; ; fork++) {
            Path profile = home.resolve("fork-" + fork + ".txt");
            if (!Files.exists(profile)) {
                return profile;
            }
        }
    }
}
