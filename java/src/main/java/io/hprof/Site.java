package io.hprof;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;

/** Objects of one class that one stack has allocated. */
public final class Site {
    /** The most bytes first; then by name, so that the order is always the same. */
    private static final Comparator<Site> ORDER = Comparator.comparingLong((Site site) -> -site.bytes)
            .thenComparing(site -> site.className)
            .thenComparing(site -> String.join("\n", site.trace));

    /** Code that runs once, when something is used for the first time. */
    private static final List<String> LOADING = List.of(
            "java.lang.ClassLoader.loadClass(",
            "java.lang.ClassLoader.findNative(",
            "java.lang.invoke.MethodHandleNatives.",
            "java.lang.invoke.MethodHandle.customize(",
            "java.lang.invoke.LambdaForm.compileToBytecode(",
            "java.lang.invoke.LambdaForm.prepare(",
            "jdk.internal.loader.",
            "jdk.internal.reflect.MethodAccessorGenerator.",
            "jdk.internal.reflect.MethodHandleAccessorFactory.");

    private final String className;
    private final long objects;
    private final long bytes;
    private final List<String> trace;

    /**
     * Creates a site.
     *
     * @param trace see {@link #trace}
     */
    public Site(String className, long objects, long bytes, List<String> trace) {
        this.className = className;
        this.objects = objects;
        this.bytes = bytes;
        this.trace = Collections.unmodifiableList(trace);
    }

    /** Reads the rows that the agent gives. */
    static List<Site> read(byte[] rows) {
        List<String> frames = new ArrayList<>();
        List<Site> sites = new ArrayList<>();
        for (String row : new String(rows, StandardCharsets.UTF_8).split("\n")) {
            String[] parts = row.split("\t");
            if (parts[0].equals("f")) {
                frames.add(parts[1]);
            } else if (parts[0].equals("s")) {
                List<String> trace = new ArrayList<>();
                for (String place : parts[3].isEmpty() ? new String[0] : parts[3].split(" ")) {
                    trace.add(frames.get(Integer.parseInt(place)));
                }
                sites.add(new Site(parts[4], Long.parseLong(parts[1]), Long.parseLong(parts[2]), trace));
            }
        }
        sites.sort(ORDER);
        return Collections.unmodifiableList(sites);
    }

    /** Returns the class of the objects, {@code byte[]} for example. */
    public String className() {
        return className;
    }

    /** Returns the number of objects. */
    public long objects() {
        return objects;
    }

    /** Returns the bytes that they take in the heap. */
    public long bytes() {
        return bytes;
    }

    /** Returns the stack that made them, the innermost frame first: {@code org.example.Parser.parse(Parser.java:31)}. */
    public List<String> trace() {
        return trace;
    }

    /**
     * Returns {@code true} if the VM and the JDK have made the objects for themselves because something was used for the
     * first time: to load and initialize classes, to link methods, lambda expressions and string concatenation.
     */
    public boolean isLoading() {
        return className.equals("java.lang.Class")
                || trace.stream().anyMatch(frame -> frame.contains(".<clinit>(")
                        || LOADING.stream().anyMatch(frame::startsWith));
    }

    /** Returns the amounts and the class, and the frames on lines of their own. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append(String.format("%8d objects %10d bytes  %s%n", objects, bytes, className));
        for (String frame : trace) {
            text.append("\tat ").append(frame).append(System.lineSeparator());
        }
        return text.toString();
    }
}
