import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.io.Serializable;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodType;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Field;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.function.IntSupplier;

/**
 * Objects that no `new` of the program makes: the VM, native methods and generated code do. Known answer (the numbers
 * stand beside the methods as well), all live unless it says otherwise, and each made in the method named:
 *
 * `$Reflected` 30; `$Handled` 40; `$Cloned` 26, one of them by `new`; `$Instanced` 20; `$Element[]` 55 and
 * `$Element[][]` 10; `$Serial` 46 of which 45 are live; `$Unsafed` 15; in `failures` 100 `$Failure`, each with a
 * backtrace that the VM makes (1 `short[]` and 1 `int[]` each); ArithmeticException 50 in `divide`;
 * NullPointerException 50 in `dereference`; String 7 in `names`; Integer 60 in `boxes`; `$Kind` 3 and `$Kind[]` 13;
 * objects of a lambda's class 15 in `lambdas`; objects of a proxy class 8 in `proxies`. Prints `kept 524`.
 */
public class JniObjects {
    static class Reflected { int x; }
    static class Handled { int x; }
    static class Instanced { int x; }
    static class Element { }
    static class Unsafed { int x; }
    static class Failure extends Exception { }
    enum Kind { ONE, TWO, THREE }

    static class Cloned implements Cloneable {
        @Override protected Cloned clone() throws CloneNotSupportedException { return (Cloned) super.clone(); }
    }

    static class Serial implements Serializable {
        private static final long serialVersionUID = 1;
        int x = 1;
    }

    static class Handler implements InvocationHandler {
        @Override public Object invoke(Object proxy, Method method, Object[] args) { return null; }
    }

    static final Object[] KEEP = new Object[2_000];
    static int kept;
    static Integer nothing;

    static void hold(Object o) { KEEP[kept++] = o; }

    /** 30 by a Constructor: JNI's NewObject, or code that the VM generates. */
    static void reflected() throws Exception {
        Constructor<Reflected> constructor = Reflected.class.getDeclaredConstructor();
        for (int i = 0; i < 30; i++) hold(constructor.newInstance());
    }

    /** 40 by a method handle. */
    static void handled() throws Throwable {
        MethodType type = MethodType.methodType(void.class);
        MethodHandle handle = MethodHandles.lookup().findConstructor(Handled.class, type);
        for (int i = 0; i < 40; i++) hold((Object) handle.invoke());
    }

    /** 1 by `new`, 25 as its clones. */
    static void cloned() throws Exception {
        Cloned original = new Cloned();
        hold(original);
        for (int i = 0; i < 25; i++) hold(original.clone());
    }

    /** 20 by Class.newInstance. */
    @SuppressWarnings("deprecation")
    static void instanced() throws Exception {
        for (int i = 0; i < 20; i++) hold(Instanced.class.newInstance());
    }

    /** 35 arrays, then 10 with two arrays each: 55 Element[], 10 Element[][]. */
    static void arrays() {
        for (int i = 0; i < 35; i++) hold(Array.newInstance(Element.class, 3));
        for (int i = 0; i < 10; i++) hold(Array.newInstance(Element.class, 2, 3));
    }

    /** 45 from a stream; the one that was written is dead. */
    static void serial() throws Exception {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        ObjectOutputStream out = new ObjectOutputStream(bytes);
        Serial original = new Serial();
        for (int i = 0; i < 45; i++) {
            out.writeObject(original);
            out.reset();
        }
        out.close();
        ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes.toByteArray()));
        for (int i = 0; i < 45; i++) hold(in.readObject());
    }

    /** 15 without any constructor. */
    static void unsafed() throws Exception {
        Class<?> unsafe = Class.forName("sun.misc.Unsafe");
        Field field = unsafe.getDeclaredField("theUnsafe");
        field.setAccessible(true);
        Object instance = field.get(null);
        Method allocate = unsafe.getMethod("allocateInstance", Class.class);
        for (int i = 0; i < 15; i++) hold(allocate.invoke(instance, Unsafed.class));
    }

    /** 1, so that loading the class is not part of the 100. */
    static void firstFailure() { hold(new Failure()); }

    /** 100 with their backtraces. */
    static void failures() { for (int i = 0; i < 100; i++) hold(new Failure()); }

    /** 50 exceptions that the VM throws. */
    static void divide(int zero) {
        for (int i = 0; i < 50; i++) {
            try {
                kept += 1 / zero;
            } catch (ArithmeticException e) {
                hold(e);
            }
        }
    }

    /** 50 exceptions that the VM throws. */
    static void dereference() {
        for (int i = 0; i < 50; i++) {
            try {
                kept += nothing.intValue();
            } catch (NullPointerException e) {
                hold(e);
            }
        }
    }

    /** 7 strings from a native method. */
    static void names(File folder) { for (String name : folder.list()) hold(name); }

    /** 60 that are not in the cache of small ones. */
    static void boxes() { for (int i = 0; i < 60; i++) hold(1_000_000 + i); }

    /** 12 clones of the array that the class keeps. */
    static void kinds() { for (int i = 0; i < 12; i++) hold(Kind.values()); }

    /** 15 of a class without a name. */
    static void lambdas() { for (int i = 0; i < 15; i++) hold(lambda(i)); }

    static IntSupplier lambda(int i) { return () -> i; }

    /** 8 of a class that is made for it. */
    static void proxies() {
        Class<?>[] interfaces = {Runnable.class};
        InvocationHandler handler = new Handler();
        ClassLoader loader = JniObjects.class.getClassLoader();
        for (int i = 0; i < 8; i++) hold(Proxy.newProxyInstance(loader, interfaces, handler));
    }

    public static void main(String[] args) throws Throwable {
        File folder = new File("names");
        if (!folder.mkdir()) throw new IllegalStateException("there is a folder of that name");
        for (int i = 0; i < 7; i++) {
            if (!new File(folder, "name-" + i).createNewFile()) throw new IllegalStateException();
        }
        reflected();
        handled();
        cloned();
        instanced();
        arrays();
        serial();
        unsafed();
        firstFailure();
        failures();
        divide(0);
        dereference();
        names(folder);
        boxes();
        kinds();
        lambdas();
        proxies();
        System.out.println("kept " + kept);
    }
}
