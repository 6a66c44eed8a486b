package io.hprof;

/**
 * Counts what a program allocates: exactly, by site.
 *
 * <pre>{@code
 * try (Count counted = Hprof.count()) {
 *     parser.parse(line);
 *     assertEquals(0, counted.objects(), counted::toString);
 * }
 * }</pre>
 *
 * <p>The first count loads the agent, unless a profile with {@code heap=sites} runs already. From then on, until the VM
 * ends or {@link Agent#stop} ends the profile, every allocation of the VM costs more, and HotSpot optimizes less, so
 * that it removes none.
 */
public final class Hprof {
    private Hprof() {}

    /**
     * Begins to count the allocations of this thread.
     *
     * @throws IllegalStateException if allocations cannot be counted here, with the reason
     */
    public static Count count() {
        return Count.begin(false);
    }

    /**
     * Begins to count the allocations of all threads.
     *
     * @throws IllegalStateException if allocations cannot be counted here, with the reason
     */
    public static Count countAllThreads() {
        return Count.begin(true);
    }
}
