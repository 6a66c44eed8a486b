package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.hprof.junit.Allocates;
import io.hprof.junit.NoGrowth;
import org.junit.jupiter.api.Test;

/** Tests that do not keep to their limits: each fails, and says why. */
class RedTest {
    private static final String NUMBERS = "1,20,300";
    private int calls;

    @Test
    @Allocates(objects = 0)
    void boxes() {
        Parser.wastefulSum(NUMBERS);
    }

    @Test
    @Allocates(bytes = "1KB", of = "com.acme.*")
    void bytes() {
        Parser.wastefulSum(NUMBERS.repeat(100));
    }

    @Test
    @Allocates(objects = 0, per = "test")
    void firstCall() {
        if (calls++ == 0) {
            Parser.wastefulSum(NUMBERS);
        }
    }

    @Test
    @Allocates(objects = 5, allThreads = true)
    void ofAnotherThread() throws Exception {
        Worker.run(() -> new int[100][100]).get();
    }

    @Test
    @NoGrowth(rounds = 5)
    void grows() {
        Parser.remember(1);
    }

    @Test
    @Allocates(objects = 0)
    void onceAlone() {
        Parser.wastefulSum(NUMBERS);
        assertEquals(0, calls++);
    }

    @Test
    @Allocates
    void noLimit() {}

    @Test
    @Allocates(bytes = "1 pound")
    void noUnit() {}
}
