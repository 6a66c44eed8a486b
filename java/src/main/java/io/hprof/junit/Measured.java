package io.hprof.junit;

import io.hprof.Site;
import java.util.ArrayList;
import java.util.List;

/** The allocations of one call of a test: those of its code, and apart from them what was loaded meanwhile. */
final class Measured {
    private final List<Site> sites = new ArrayList<>();
    private long loaded;

    Measured(List<Site> all) {
        for (Site site : all) {
            if (site.isLoading()) {
                loaded += site.objects();
            } else {
                sites.add(site);
            }
        }
    }

    List<Site> sites() {
        return sites;
    }

    long objects() {
        return sites.stream().mapToLong(Site::objects).sum();
    }

    long bytes() {
        return sites.stream().mapToLong(Site::bytes).sum();
    }

    /** Returns the number of objects that are not counted, because they were made to load, initialize and link code. */
    long loaded() {
        return loaded;
    }
}
