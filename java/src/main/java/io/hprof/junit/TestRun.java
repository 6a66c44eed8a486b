package io.hprof.junit;

import io.hprof.Site;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor.Invocation;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;
import org.junit.platform.commons.support.ReflectionSupport;

/** A test that is called several times, and the part of each stack that belongs to it. */
final class TestRun {
    /** The frames of this package are below every test that is checked. */
    private static final String OWN_FRAMES = TestRun.class.getPackageName() + ".";

    private final Invocation<Void> invocation;
    private final ReflectiveInvocationContext<Method> method;
    private final ExtensionContext context;
    /** The beginning of the frames of the test method. */
    private final String frame;
    private int calls;

    TestRun(Invocation<Void> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context) {
        this.invocation = invocation;
        this.method = method;
        this.context = context;
        Method executable = method.getExecutable();
        this.frame = executable.getDeclaringClass().getName() + "." + executable.getName() + "(";
    }

    Method method() {
        return method.getExecutable();
    }

    Class<?> testClass() {
        return method.getTargetClass();
    }

    /** Returns the test's name, {@code com.acme.ParserTest.parse}. */
    String name() {
        return testClass().getName() + "." + method().getName();
    }

    /** Returns a parameter of the test run, or a system property. */
    Optional<String> parameter(String name) {
        return context.getConfigurationParameter(name);
    }

    /** Returns the name of a file for the test, the same in every run. */
    String fileName() {
        // The number of a repetition, or of a set of arguments.
        String id = context.getUniqueId();
        int at = id.lastIndexOf("invocation:#");
        String number = at < 0 ? "" : "-" + id.substring(at + "invocation:#".length()).replaceAll("[^0-9].*", "");
        return (name() + number).replaceAll("[^A-Za-z0-9._$-]", "_") + ".txt";
    }

    /** Returns {@code true} if nothing can be counted on this system; the test has been called then. */
    boolean isCalledUnchecked() throws Throwable {
        if (System.getProperty("os.name").toLowerCase(Locale.ROOT).contains("linux")) {
            return false;
        }
        context.publishReportEntry("hprof", "not checked: hprof runs on Linux alone");
        call();
        return true;
    }

    /** Calls the test method. */
    void call() throws Throwable {
        calls++;
        if (calls == 1) {
            invocation.proceed();
            return;
        }
        try {
            ReflectionSupport.invokeMethod(
                    method(), method.getTarget().orElse(null), method.getArguments().toArray());
        } catch (Throwable error) {
            error.addSuppressed(new IllegalStateException("hprof calls " + name() + " several times to count what it"
                    + " allocates, and this was call " + calls));
            throw error;
        }
    }

    /**
     * Returns the sites of the test, without the frames of its runner. Of other threads, those that run no test belong to
     * it.
     */
    List<Site> own(Collection<Site> sites, Code code) {
        Map<List<String>, Site> own = new LinkedHashMap<>();
        for (Site site : sites) {
            List<String> trace = ownPart(site.trace());
            if (trace != null && (code.isAll() || trace.stream().anyMatch(line -> isMeant(line, code)))) {
                List<String> key = new ArrayList<>(trace);
                key.add(site.className());
                own.merge(key, new Site(site.className(), site.objects(), site.bytes(), trace), TestRun::sum);
            }
        }
        return new ArrayList<>(own.values());
    }

    private boolean isMeant(String line, Code code) {
        return code.has(line) && !Code.isOf(line, method().getDeclaringClass().getName());
    }

    private List<String> ownPart(List<String> trace) {
        for (int i = trace.size() - 1; i >= 0; i--) {
            if (trace.get(i).startsWith(frame)) {
                return trace.subList(0, i + 1);
            }
        }
        // The runner of this test or of another is below; a stack that is too deep to have it is the test's.
        return trace.stream().anyMatch(line -> line.startsWith("org.junit.") || line.startsWith(OWN_FRAMES)) ? null : trace;
    }

    private static Site sum(Site one, Site other) {
        return new Site(one.className(), one.objects() + other.objects(), one.bytes() + other.bytes(), one.trace());
    }
}
