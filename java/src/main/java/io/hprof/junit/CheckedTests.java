package io.hprof.junit;

import java.lang.reflect.Method;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.InvocationInterceptor;
import org.junit.jupiter.api.extension.ReflectiveInvocationContext;

/** An extension that calls test methods by itself. */
abstract class CheckedTests implements InvocationInterceptor {
    /** Calls a test, once or several times, and throws what makes it fail. */
    abstract void check(TestRun test) throws Throwable;

    @Override
    public void interceptTestMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context)
            throws Throwable {
        check(new TestRun(invocation, method, context));
    }

    @Override
    public void interceptTestTemplateMethod(
            Invocation<Void> invocation, ReflectiveInvocationContext<Method> method, ExtensionContext context)
            throws Throwable {
        check(new TestRun(invocation, method, context));
    }
}
