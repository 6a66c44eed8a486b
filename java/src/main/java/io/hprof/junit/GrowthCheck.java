package io.hprof.junit;

import io.hprof.Count;
import io.hprof.Hprof;
import io.hprof.Site;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.platform.commons.JUnitException;
import org.opentest4j.AssertionFailedError;

/** Calls a test again and again, as long as the live objects of one of its sites grow. */
final class GrowthCheck {
    private GrowthCheck() {}

    static void run(TestRun test, int rounds, Code code, boolean allThreads) throws Throwable {
        if (rounds < 2) {
            throw new JUnitException("hprof: rounds = " + rounds + ": must be 2 or more");
        }
        if (test.isCalledUnchecked()) {
            return;
        }
        try (Count count = allThreads ? Hprof.countAllThreads() : Hprof.count()) {
            test.call();
            Map<List<String>, Site> first = live(test, count, code);
            Map<List<String>, Site> before = first;
            List<List<String>> growing = null;
            for (int round = 1; round <= rounds; round++) {
                test.call();
                Map<List<String>, Site> now = live(test, count, code);
                List<List<String>> still = new ArrayList<>();
                for (List<String> key : growing == null ? now.keySet() : growing) {
                    if (objects(now, key) > objects(before, key)) {
                        still.add(key);
                    }
                }
                if (still.isEmpty()) {
                    return;
                }
                growing = still;
                before = now;
            }
            throw new AssertionFailedError(failure(test, rounds, growing, first, before));
        }
    }

    private static String failure(
            TestRun test,
            int rounds,
            List<List<String>> growing,
            Map<List<String>, Site> first,
            Map<List<String>, Site> last) {
        String head = String.format("%s leaves more objects behind in each of %d rounds:%n%n", test.name(), rounds);
        return growing.stream().map(key -> grown(first.get(key), last.get(key)).toString())
                .collect(Collectors.joining("", head, ""));
    }

    private static Site grown(Site first, Site last) {
        return first == null ? last : new Site(last.className(), last.objects() - first.objects(),
                last.bytes() - first.bytes(), last.trace());
    }

    private static long objects(Map<List<String>, Site> sites, List<String> key) {
        return sites.containsKey(key) ? sites.get(key).objects() : 0;
    }

    /** Returns the live objects of the test, by class and stack. */
    private static Map<List<String>, Site> live(TestRun test, Count count, Code code) {
        Map<List<String>, Site> live = new LinkedHashMap<>();
        for (Site site : test.own(count.live(), code)) {
            List<String> key = new ArrayList<>(site.trace());
            key.add(site.className());
            live.put(key, site);
        }
        return live;
    }
}
