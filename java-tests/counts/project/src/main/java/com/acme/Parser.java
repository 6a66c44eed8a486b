package com.acme;

import java.util.ArrayList;
import java.util.List;

/** Parses numbers with commas between them. */
public class Parser {
    /** What {@link #remember} has seen. */
    private static final List<Object> SEEN = new ArrayList<>();

    /** Adds the numbers up; allocates nothing. */
    public static int sum(String text) {
        int sum = 0;
        int number = 0;
        for (int i = 0; i < text.length(); i++) {
            char digit = text.charAt(i);
            if (digit == ',') {
                sum += number;
                number = 0;
            } else {
                number = 10 * number + digit - '0';
            }
        }
        return sum + number;
    }

    /** Adds the numbers up; allocates a string and a box for each. */
    public static int wastefulSum(String text) {
        int sum = 0;
        for (String number : text.split(",")) {
            Integer box = Integer.valueOf(1000 + Integer.parseInt(number));
            sum += box - 1000;
        }
        return sum;
    }

    /** Keeps each number for ever. */
    public static void remember(int number) {
        SEEN.add(new int[] {number});
    }

    /** Keeps as many numbers as there is room for. */
    public static void rememberSome(int number) {
        if (SEEN.size() < 3) {
            SEEN.add(new int[] {number});
        }
    }
}
