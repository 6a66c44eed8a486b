package com.acme;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.hprof.junit.Allocates;
import io.hprof.junit.NoGrowth;
import org.junit.jupiter.api.RepeatedTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that keep to their limits. */
class GreenTest {
    private static final String NUMBERS = "1,20,300";

    @Test
    @Allocates(objects = 0)
    void nothing() {
        assertEquals(321, Parser.sum(NUMBERS));
    }

    @Test
    @Allocates(objects = 0)
    void onlyWhenItIsUsedFirst() {
        Runnable sum = () -> Parser.sum(NUMBERS);
        sum.run();
        String text = "a literal";
        assertEquals(9, text.length());
    }

    /** Three boxes, a list, its array, two arrays of a list and three strings with their bytes. */
    @Test
    @Allocates(bytes = "1KB", per = "call", of = "com.acme.*")
    @Allocates(objects = 3, of = "java.lang.Integer")
    void little() {
        byte[] ofTheTest = new byte[4096];
        assertEquals(321, Parser.wastefulSum(NUMBERS) + ofTheTest[0]);
    }

    @ParameterizedTest
    @ValueSource(strings = {"1", "22,33"})
    @Allocates(objects = 0)
    void ofEachArgument(String text) {
        Parser.sum(text);
    }

    /** An array and its copy. */
    @RepeatedTest(3)
    @Allocates(objects = 2)
    void again() {
        assertEquals(3, new int[3].clone().length);
    }

    /** The task and its way to the other thread; the 101 arrays that the other thread makes do not count. */
    @Test
    @Allocates(objects = 20)
    void besideAnotherThread() throws Exception {
        assertEquals(2, Worker.run(() -> new int[100][100].length / 50).get());
    }

    @Test
    @NoGrowth(rounds = 20)
    void fillsUp() {
        Parser.rememberSome(1);
    }

    @Test
    @NoGrowth
    void leavesNothing() {
        Parser.wastefulSum(NUMBERS);
    }
}
