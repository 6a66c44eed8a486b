package io.hprof.junit;

import java.util.ArrayList;
import java.util.List;
import org.junit.platform.commons.JUnitException;

/** Classes and packages: {@code com.acme.Parser, com.acme.text.*}. */
final class Code {
    private final List<String> names = new ArrayList<>();

    Code(String text) {
        for (String name : text.split("[,\\s]+")) {
            if (!name.isEmpty()) {
                if (name.indexOf('*') >= 0 && name.indexOf('*') != name.length() - 1 || name.equals("*")) {
                    throw new JUnitException("hprof: of = \"" + text + "\": must be names of classes, and of packages with .*");
                }
                names.add(name);
            }
        }
    }

    /** Returns {@code true} if no code is named. */
    boolean isAll() {
        return names.isEmpty();
    }

    /** Returns {@code true} for a frame, {@code a.B.c(B.java:7)}, of a method of this code. */
    boolean has(String frame) {
        return names.stream().anyMatch(name -> name.endsWith("*")
                ? frame.startsWith(name.substring(0, name.length() - 1))
                : isOf(frame, name));
    }

    /** Returns {@code true} for a frame of a method of the class, or of a class within it. */
    static boolean isOf(String frame, String className) {
        if (!frame.startsWith(className)) {
            return false;
        }
        String rest = frame.substring(className.length());
        return rest.startsWith("$") || rest.startsWith(".") && rest.indexOf('.', 1) > rest.indexOf('(');
    }
}
