package io.hprof.junit;

import io.hprof.Count;
import io.hprof.Hprof;
import io.hprof.Site;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.opentest4j.AssertionFailedError;

/** Calls a test until it keeps to its limits. */
final class LimitCheck {
    /** The most sites that a failure shows. */
    private static final int SHOWN = 10;

    private final TestRun test;
    private final Limit limit;
    private final List<Measured> calls = new ArrayList<>();

    private LimitCheck(TestRun test, Limit limit) {
        this.test = test;
        this.limit = limit;
    }

    static void run(TestRun test, List<Limit> limits) throws Throwable {
        List<LimitCheck> checks = limits.stream().map(limit -> new LimitCheck(test, limit)).collect(Collectors.toList());
        if (test.isCalledUnchecked()) {
            return;
        }
        boolean countsAll = limits.stream().anyMatch(Limit::allThreads);
        do {
            // This thread's count is the inner one, so the other's calls are not in it.
            try (Count everybody = countsAll ? Hprof.countAllThreads() : null;
                    Count own = Hprof.count()) {
                test.call();
                List<Site> ownSites = own.sites();
                List<Site> allSites = everybody == null ? null : everybody.sites();
                for (LimitCheck check : checks) {
                    check.take(check.limit.allThreads() ? allSites : ownSites);
                }
            }
        } while (checks.stream().anyMatch(LimitCheck::wantsAnotherCall));
        tell(checks);
    }

    private static void tell(List<LimitCheck> checks) {
        List<String> failures = new ArrayList<>();
        for (int i = 0; i < checks.size(); i++) {
            LimitCheck check = checks.get(i);
            GreenRun green = new GreenRun(check.test, i);
            if (check.isKept()) {
                green.save(check.best().sites());
            } else {
                failures.add(check.failure(green));
            }
        }
        if (!failures.isEmpty()) {
            throw new AssertionFailedError(String.join("\n", failures));
        }
    }

    private void take(List<Site> sites) {
        if (calls.size() < limit.calls()) {
            calls.add(new Measured(test.own(sites, limit.code())));
        }
    }

    private boolean wantsAnotherCall() {
        return !isKept() && calls.size() < limit.calls();
    }

    private boolean isKept() {
        return limit.allows(best());
    }

    private Measured best() {
        return calls.stream().min(limit.order()).orElseThrow();
    }

    private String failure(GreenRun green) {
        Measured best = best();
        StringBuilder text = new StringBuilder();
        text.append(String.format("%s allocated %s and %s; allowed are %s%n",
                test.name(), Limit.count(best.objects(), "object"), Limit.count(best.bytes(), "byte"), limit));
        if (calls.size() > 1) {
            String counts = calls.stream().map(one -> String.valueOf(one.objects())).collect(Collectors.joining(", "));
            text.append(String.format("The least of %d calls, with %s objects.%n", calls.size(), counts));
        }
        if (calls.get(0).loaded() > 0) {
            text.append(String.format("Loading and linking classes made %d more in the first call, which do not count.%n",
                    calls.get(0).loaded()));
        }
        Map<String, Long> before = green.objects();
        text.append(before != null
                ? String.format("Compared with the last run within the limit, %s:%n%n", green)
                : String.format("There is no earlier run within the limit to compare with.%n%n"));
        List<Site> shown = best.sites().subList(0, Math.min(SHOWN, best.sites().size()));
        for (Site site : shown) {
            text.append(before == null ? "" : change(site, before)).append(site);
        }
        if (shown.size() < best.sites().size()) {
            text.append(String.format("and %d more sites%n", best.sites().size() - shown.size()));
        }
        return text.toString();
    }

    private static String change(Site site, Map<String, Long> before) {
        Long objects = before.get(GreenRun.key(site));
        if (objects == null) {
            return String.format("NEW%n");
        }
        long more = site.objects() - objects;
        return more == 0 ? "" : String.format("%+d object%s%n", more, Math.abs(more) == 1 ? "" : "s");
    }
}
