package io.hprof.junit;

import java.util.Comparator;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.platform.commons.JUnitException;

/** What a test may allocate. */
final class Limit {
    private static final Pattern BYTES = Pattern.compile("([0-9]{1,12}) *(B|KB|MB|GB)?");

    private final long objects;
    private final long bytes;
    private final Code code;
    private final boolean isOfFirstCall;
    private final int calls;
    private final boolean allThreads;

    Limit(long objects, String bytes, Code code, String per, int calls, boolean allThreads) {
        if (objects < 0 && bytes.isBlank()) {
            throw new JUnitException("hprof: @Allocates has no limit: it needs objects = or bytes =");
        }
        if (!per.equals("call") && !per.equals("test")) {
            throw new JUnitException("hprof: per = \"" + per + "\": must be call or test");
        }
        if (calls < 1) {
            throw new JUnitException("hprof: calls = " + calls + ": must be 1 or more");
        }
        this.objects = objects < 0 ? Long.MAX_VALUE : objects;
        this.bytes = bytes.isBlank() ? Long.MAX_VALUE : parse(bytes.trim());
        this.code = code;
        this.isOfFirstCall = per.equals("test");
        this.calls = isOfFirstCall ? 1 : calls;
        this.allThreads = allThreads;
    }

    private static long parse(String text) {
        Matcher parts = BYTES.matcher(text.toUpperCase(Locale.ROOT));
        if (!parts.matches()) {
            throw new JUnitException("hprof: bytes = \"" + text + "\": must be a number of B, KB, MB or GB, such as 1KB");
        }
        String unit = parts.group(2) == null ? "B" : parts.group(2);
        return Long.parseLong(parts.group(1)) << 10 * "BKMG".indexOf(unit.charAt(0));
    }

    /** Returns the code whose allocations are limited. */
    Code code() {
        return code;
    }

    /** Returns the most calls of the test method. */
    int calls() {
        return calls;
    }

    boolean allThreads() {
        return allThreads;
    }

    boolean allows(Measured measured) {
        return measured.objects() <= objects && measured.bytes() <= bytes;
    }

    /** Returns the order of measurements, those next to the limit first. */
    Comparator<Measured> order() {
        Comparator<Measured> byObjects = Comparator.comparingLong(Measured::objects);
        Comparator<Measured> byBytes = Comparator.comparingLong(Measured::bytes);
        return objects < Long.MAX_VALUE ? byObjects.thenComparing(byBytes) : byBytes.thenComparing(byObjects);
    }

    /** Returns a number with its noun: {@code 1 object}, {@code 2 objects}. */
    static String count(long number, String noun) {
        return number + " " + noun + (number == 1 ? "" : "s");
    }

    /** Returns the limit in words: {@code at most 2 objects a call}. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("at most ");
        if (objects < Long.MAX_VALUE) {
            text.append(count(objects, "object"));
        }
        if (bytes < Long.MAX_VALUE) {
            text.append(objects < Long.MAX_VALUE ? " and " : "").append(count(bytes, "byte"));
        }
        return text.append(isOfFirstCall ? "" : " a call").toString();
    }
}
