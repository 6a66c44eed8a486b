package io.hprof.junit;

import java.lang.annotation.Documented;
import java.lang.annotation.ElementType;
import java.lang.annotation.Retention;
import java.lang.annotation.RetentionPolicy;
import java.lang.annotation.Target;
import java.util.Optional;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.platform.commons.support.AnnotationSupport;

/**
 * A test that must leave nothing behind. On a class it is for each of its tests.
 *
 * <p>The test method is called once, and then once in each round; after each call garbage is collected. The test fails if
 * there is a site of the test whose live objects have grown in every round. The first round without such a site ends it.
 */
@Documented
@Target({ElementType.METHOD, ElementType.TYPE, ElementType.ANNOTATION_TYPE})
@Retention(RetentionPolicy.RUNTIME)
@ResourceLock("io.hprof.junit.NoGrowth")
@ExtendWith(NoGrowth.Check.class)
public @interface NoGrowth {
    /** The most rounds. */
    int rounds() default 20;

    /** The code whose objects may not grow; as {@link Allocates#of}. */
    String of() default "";

    /** {@code true} if objects that other threads make count, too; those of other tests do not. */
    boolean allThreads() default false;

    /** Repeats tests until nothing grows. */
    final class Check extends CheckedTests {
        @Override
        void check(TestRun test) throws Throwable {
            Optional<NoGrowth> found = AnnotationSupport.findAnnotation(test.method(), NoGrowth.class);
            if (found.isEmpty()) {
                found = AnnotationSupport.findAnnotation(test.testClass(), NoGrowth.class);
            }
            NoGrowth asked = found.orElseThrow();
            GrowthCheck.run(test, asked.rounds(), new Code(asked.of()), asked.allThreads());
        }
    }
}
