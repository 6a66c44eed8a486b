import java.lang.reflect.Field;
import java.lang.reflect.Method;

/**
 * Has objects with fields that the VM hides from agents. Reading a static field that is final or volatile by reflection
 * makes a {@code jdk.internal.reflect.UnsafeStaticFieldAccessorImpl} on JDK 11 and 17, and on 21 with
 * {@code -Djdk.reflect.useDirectMethodHandle=false}. Known answer: {@code number} is 4714 and {@code fields} has 3 elements.
 */
public class Reflected {
    static final Object FINAL = new Object();
    static volatile int number = 4714;
    static volatile Object reference = "text";
    static Field[] fields;
    static Object pool;

    public static void main(String[] args) throws Exception {
        fields = new Field[]{field("FINAL"), field("number"), field("reference")};
        for (Field field : fields) System.out.println(field.get(null));
        Method method = Class.class.getDeclaredMethod("getConstantPool");
        method.setAccessible(true);
        pool = method.invoke(Reflected.class);
        System.out.println("done");
    }

    static Field field(String name) throws NoSuchFieldException {
        Field field = Reflected.class.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }
}
