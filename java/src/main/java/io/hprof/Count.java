package io.hprof;

import java.util.List;

/**
 * The allocations since {@link Hprof#count} up to the first question about them, or up to {@link #close}.
 *
 * <p>The first question ends the count, so what an assertion allocates is not in it. Only the thread that began a count
 * of itself can end it.
 */
public final class Count implements AutoCloseable {
    private long number;
    /** What was counted; null while it goes on. */
    private List<Site> sites;

    private Count() {}

    static Count begin(boolean allThreads) {
        // Made first: it would be counted otherwise.
        Count count = new Count();
        count.number = Agent.count(allThreads);
        return count;
    }

    /** Ends the count and returns the number of objects. */
    public long objects() {
        return sites().stream().mapToLong(Site::objects).sum();
    }

    /** Ends the count and returns the number of bytes. */
    public long bytes() {
        return sites().stream().mapToLong(Site::bytes).sum();
    }

    /** Ends the count and returns the sites at which something was allocated, those with the most bytes first. */
    public List<Site> sites() {
        if (sites == null) {
            sites = Site.read(Agent.endCount(number));
        }
        return sites;
    }

    /**
     * Collects garbage and returns the objects that are alive, of all threads, at the sites that the count has met. The
     * count goes on.
     */
    public List<Site> live() {
        if (sites != null) {
            throw new IllegalStateException("this count has ended");
        }
        return Site.read(Agent.liveOfCount(number));
    }

    /** Ends the count; what it has can still be asked for. */
    @Override
    public void close() {
        sites();
    }

    /** Ends the count and returns the sites with their stacks, as text. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder();
        text.append(objects()).append(" objects, ").append(bytes()).append(" bytes\n");
        for (Site site : sites()) {
            text.append(site);
        }
        return text.toString();
    }
}
