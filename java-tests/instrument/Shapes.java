/**
 * Methods of every shape. How often each is entered, returns, and is left by an exception:
 *
 *     Shapes.first, second, third   10  0 10   an exception through three frames
 *     Shapes.caught                 10 10  0   its own handler catches
 *     Shapes.last                   10  5  5   `finally` after a return and after an exception
 *     Shapes.deep                10001 10001 0
 *     Shapes.loop                    4  4  0   jumps back to its first instruction
 *     Shapes.endless                 as often left as entered, give or take a few where the stack ends
 *     Shapes.locked, lockedBlock    50 50  0
 *     Shapes.lockedThrows            5  0  5
 *     Shapes.table, sparse          10 10  0   switches
 *     Shapes.number, fraction        3  3  0   values of two slots
 *     Shapes.fib                  1973 1973 0
 *     Base.<init>                   13  9  4   (I): it throws for what is negative
 *     Child.<init>                   9  3  2   4 fail in `super(...)`, 2 in its argument
 *     Child.check                    9  7  2
 *     Late.<init>                    6  3  3   fails behind `super(b ? ... : ...)`
 *     Late.pick                      6  6  0
 *     Twin.<init>(String)            6  2  1   3 fail in `this(...)`, 1 in its argument
 *     Twin.<init>(int)               5  2  3
 *     Init.<clinit>, compute         1  1  0
 *     BadInit.<clinit>, fail         1  0  1
 *     Shapes.lambda$run$0            7  7  0
 *     Greeter.greet, help            8  8  0   an interface's own code
 *
 * The constructors that fail in `super(...)` or `this(...)`, 4 and 3, call neither `methodExit` nor `exceptionExit`. In `run` they
 * are caught, so what is on top of the shadow stack is of no running method until `run` leaves, or a method of the
 * same name.
 */
public class Shapes implements Runnable {
    static long sink;

    static void first() { second(); }
    static void second() { third(); }
    static void third() { throw new IllegalArgumentException(); }

    static int caught(int n) {
        try {
            if (n % 2 == 0) {
                throw new IllegalStateException();
            }
            return 1;
        } catch (IllegalStateException e) {
            return 2;
        }
    }

    static int last(int n) {
        try {
            return 10 / (n % 2);
        } finally {
            sink++;
        }
    }

    static void deep(int n) {
        if (n > 0) {
            deep(n - 1);
        }
    }

    static void loop(int n) {
        while (true) {
            if (n-- == 0) {
                return;
            }
        }
    }

    static void endless(int n) { endless(n + 1); }

    static synchronized void locked() { sink++; }
    static synchronized void lockedThrows() { throw new IllegalStateException(); }

    static int lockedBlock(Object lock) {
        synchronized (lock) {
            return lock.hashCode();
        }
    }

    static int table(int n) {
        switch (n) {
            case 0: return 3;
            case 1: sink++;
            case 2: return 5;
            case 3: case 4: return 7;
            default: return n > 7 ? 8 : 9;
        }
    }

    static int sparse(int n) {
        switch (n * 1000) {
            case 0: return 3;
            case 1000: sink += 2; break;
            case 9000: return 5;
            default: sink++;
        }
        return 4;
    }

    static long number(long a, double b) { return a + (long) b; }
    static double fraction(long a, double b) { return a / b; }
    static int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

    static class Base {
        Base(int n) {
            if (n < 0) {
                throw new IllegalArgumentException();
            }
        }
    }

    static class Child extends Base {
        Child(int n) {
            super(check(n));
            sink++;
        }

        static int check(int n) {
            if (n == 0) {
                throw new IllegalStateException();
            }
            return n;
        }
    }

    static class Late extends Base {
        Late(boolean b) {
            super(b ? pick(1) : pick(2));
            if (b) {
                throw new IllegalStateException();
            }
        }

        static int pick(int n) { return n; }
    }

    static class Twin {
        Twin(String text) { this(text.length()); }

        Twin(int n) {
            if (n > 2) {
                throw new IllegalStateException();
            }
        }
    }

    static class Init {
        static int x = compute();
        static int compute() { return 1; }
    }

    static class BadInit {
        static int x = fail();
        static int fail() { throw new IllegalStateException(); }
    }

    interface Greeter {
        default int greet() { return help(); }
        static int help() { return 1; }
    }

    static class Person implements Greeter {}

    static void times(int n, Runnable body) {
        for (int i = 0; i < n; i++) {
            try {
                body.run();
            } catch (RuntimeException | LinkageError | StackOverflowError e) {
                sink--;
            }
        }
    }

    private static int next;

    public void run() {
        times(10, Shapes::first);
        for (next = 0; next < 10; next++) {
            caught(next);
            try {
                last(next);
            } catch (ArithmeticException e) {
                sink--;
            }
            table(next);
            sparse(next);
        }
        deep(10_000);
        for (int i = 0; i < 4; i++) {
            loop(i);
        }
        try {
            endless(0);
        } catch (StackOverflowError e) {
            sink--;
        }
        for (int i = 0; i < 50; i++) {
            locked();
            lockedBlock(this);
        }
        times(5, Shapes::lockedThrows);
        for (int i = 0; i < 3; i++) {
            sink += number(i, 2.5) + (long) fraction(i, 3.0);
        }
        fib(15);
        times(7, () -> sink++);
        construct();
        sink += Init.x;
        try {
            sink += BadInit.x;
        } catch (ExceptionInInitializerError e) {
            sink--;
        }
        Greeter person = new Person();
        for (int i = 0; i < 8; i++) {
            person.greet();
        }
    }

    private static void construct() {
        int[] numbers = {1, 1, 1, 0, 0, -1, -1, -1, -1};
        for (int n : numbers) {
            try {
                new Child(n);
            } catch (RuntimeException e) {
                sink--;
            }
        }
        for (int i = 0; i < 6; i++) {
            try {
                new Late(i % 2 == 0);
            } catch (IllegalStateException e) {
                sink--;
            }
        }
        String[] texts = {"a", "b", "abc", "abc", "abc", null};
        for (String text : texts) {
            try {
                new Twin(text);
            } catch (RuntimeException e) {
                sink--;
            }
        }
    }
}
