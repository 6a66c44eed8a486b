package com.acme;

import io.hprof.junit.Allocates;

import org.junit.jupiter.api.Test;

/** A test that passes in its first run, with one array, and fails in the next one, with two more and one of another kind. */
class ChangedTest {
    private static int runs;
    private static final Object[] KEPT = new Object[4];

    private final boolean isChanged = runs++ > 0;

    @Test
    @Allocates(objects = 1)
    void changes() {
        int arrays = isChanged ? 3 : 1;
        for (int i = 0; i < arrays; i++) {
            KEPT[i] = new int[2];
        }
        if (isChanged) {
            KEPT[3] = new long[1];
        }
    }
}
