import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * The system class loader of Loaded: keeps what it is asked for by threads that run no other Java code.
 */
public class Loader extends ClassLoader {
    static final List<String> asked = Collections.synchronizedList(new ArrayList<>());

    public Loader(ClassLoader parent) {
        super(parent);
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
        StackTraceElement[] frames = new Throwable().getStackTrace();
        if (frames[frames.length - 1].getClassName().endsWith("ClassLoader")) {
            asked.add(Thread.currentThread().getName() + ": " + name);
        }
        return super.loadClass(name, resolve);
    }
}
