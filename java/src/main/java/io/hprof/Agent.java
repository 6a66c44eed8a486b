package io.hprof;

import java.io.IOException;
import java.lang.instrument.Instrumentation;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;

/**
 * The agent in this VM: {@code -javaagent:hprof.jar=OPTIONS} starts it, and a program may start and stop
 * profiles itself.
 *
 * <p>The options and commands are those of {@code hprof attach}.
 */
public final class Agent {
    private static boolean loaded;

    private Agent() {}

    /** {@code -javaagent}: starts a profile before {@code main}; the VM exits if the options are wrong. */
    public static void premain(String options, Instrumentation ignored) {
        String begin = "hprof: the profile begins " + sinceStart() + "after the VM: what ended before is not in it, and what still"
                + " lives from then has no trace; -agentpath has both";
        try {
            if ("help".equals(options)) {
                load();
                command("help");
                System.exit(0);
            }
            start(options == null ? "" : options);
            System.err.println(begin);
        } catch (IOException | IllegalStateException | LinkageError error) {
            System.err.println("hprof: " + error.getMessage());
            System.exit(1);
        }
    }

    /** Starts a profile when the jar is loaded into a running VM. */
    public static void agentmain(String options, Instrumentation ignored) throws IOException {
        start(options == null ? "" : options);
    }

    /**
     * Starts a profile.
     *
     * @param options as for {@code -agentpath}: {@code heap=sites,file=/tmp/sites.txt}
     * @return the agent's answer
     * @throws IllegalStateException with the agent's message, if it refuses
     */
    public static String start(String options) throws IOException {
        return ask("start", options);
    }

    /** Writes the profile so far; it continues, and so do its totals. */
    public static String dump() throws IOException {
        return ask("dump", "");
    }

    /** Writes the profile and ends it. */
    public static String stop() throws IOException {
        return ask("stop", "");
    }

    private static synchronized String ask(String verb, String options) throws IOException {
        load();
        // The agent answers in a file created by its caller.
        Path reply = Files.createTempFile("hprof-reply-", "");
        try {
            command(verb + ",reply=" + reply + (options.isEmpty() ? "" : "," + options));
            String[] told = Files.readString(reply).split("\n", 2);
            if (told.length == 2 && told[0].equals("done")) {
                return told[1];
            }
            throw new IllegalStateException(told.length == 2 ? told[1] : "the agent gave no answer");
        } finally {
            Files.deleteIfExists(reply);
        }
    }

    private static void load() throws IOException {
        if (!loaded) {
            System.load(Bundle.ofThisVm().library().toString());
            loaded = true;
        }
    }

    private static String sinceStart() {
        return ProcessHandle.current().info().startInstant()
                .map(start -> Duration.between(start, Instant.now()).toMillis() + " ms ")
                .orElse("");
    }

    private static native boolean command(String command);
}
