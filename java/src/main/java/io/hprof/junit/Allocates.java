package io.hprof.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Repeatable;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * A limit for what a test allocates. On a class it is the limit of each of its tests that have none of their own.
 *
 * <p>The test method is called until one of its calls stays within the limit, at most {@link #calls} times; if none does,
 * the test fails. So first calls, which fill caches, do no harm, while an object too many in every call does.
 */
@Documented
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@Repeatable(Allocates.All.class)
@ExtendWith(Allocates.Check.class)
public @interface Allocates {
    /** The most objects; a negative number for no limit. */
    long objects() default -1;

    /** The most bytes, {@code "512"}, {@code "1KB"} (1,024 bytes) or {@code "2MB"}; empty for no limit. */
    String bytes() default "";

    /**
     * The code whose allocations count, with those of the code that it calls: classes and packages,
     * {@code "com.acme.Parser, com.acme.text.*"}. The test's own class is never among them. Empty for all code that the
     * test calls, and the test itself.
     */
    String of() default "";

    /**
     * {@code "call"} if the limit is for a call of the test method, the best of several; {@code "test"} if the method is
     * called once, and its first call counts.
     */
    String per() default "call";

    /** The most calls of the test method. */
    int calls() default 5;

    /** {@code true} if the allocations of threads other than the test's own count, too; those of other tests do not. */
    boolean allThreads() default false;

    /** Several limits for one test. */
    @Documented
    @Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
    @Retention(RetentionPolicy.RUNTIME)
    @ExtendWith(Allocates.Check.class)
    @interface All {
        /** The limits. */
        Allocates[] value();
    }

    /** Holds tests to their limits. */
    final class Check extends CheckedTests {
        @Override
        void check(TestRun test) throws Throwable {
            List<Limit> limits = new ArrayList<>();
            for (Allocates limit : find(test)) {
                limits.add(new Limit(limit.objects(), limit.bytes(), new Code(limit.of()), limit.per(), limit.calls(),
                        limit.allThreads()));
            }
            LimitCheck.run(test, limits);
        }

        private static List<Allocates> find(TestRun test) {
            List<Allocates> own = AnnotationSupport.findRepeatableAnnotations(test.method(), Allocates.class);
            return own.isEmpty() ? AnnotationSupport.findRepeatableAnnotations(test.testClass(), Allocates.class) : own;
        }
    }
}
