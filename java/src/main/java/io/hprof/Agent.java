package io.hprof;

import java.io.File;
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
    /**
     * A profile that nobody reads: only what the program counts matters. The depth is enough for the stack of a test below
     * its runner.
     */
    private static final String COUNTING = "heap=sites,depth=512,cutoff=0,doe=n,gc=n,verbose=n,file="
            + (File.separatorChar == '\\' ? "NUL" : "/dev/null");

    private static boolean loaded;
    /** {@code true} once the library has been loaded and a count has been tried. */
    private static volatile boolean mayCount;

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

    /** Begins a count, and a profile for it unless one runs; returns its number. */
    static long count(boolean allThreads) {
        long number = mayCount ? beginCount(allThreads) : 0;
        if (number == 0) {
            startCounting();
            number = beginCount(allThreads);
        }
        if (number == 0) {
            throw new IllegalStateException("hprof: the profile that counts has just been stopped");
        }
        // Nothing here may allocate: it would be counted.
        return number;
    }

    private static synchronized void startCounting() {
        try {
            load();
            long number = beginCount(true);
            if (number == 0) {
                ask("start", COUNTING);
                number = beginCount(true);
            }
            // The VM looks a native method up when it is first called, and allocates for that.
            endCount(number);
            mayCount = true;
        } catch (IOException | LinkageError error) {
            throw new IllegalStateException("hprof: " + error.getMessage(), error);
        }
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

    /** Begins a count; returns its number, 0 if no profile runs. */
    static native long beginCount(boolean allThreads);

    /** Ends a count and returns its rows, for {@link Site#read}. */
    static native byte[] endCount(long number);

    /** Collects garbage and returns the live objects of the sites that a count has met. */
    static native byte[] liveOfCount(long number);
}
