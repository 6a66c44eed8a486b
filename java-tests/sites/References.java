import java.lang.ref.PhantomReference;
import java.lang.ref.Reference;
import java.lang.ref.ReferenceQueue;
import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;

/**
 * Objects that references alone point to, in a heap with plenty of room. Known answer: after a GC 400
 * `References$Weak` and 200 `References$Phantom` are dead, 300 `References$Soft` are live; of 150 `References$Both`,
 * which have a weak reference each, the 50 that have a strong one too are live. The 1,050 reference objects
 * themselves (400 + 150 WeakReference, 300 SoftReference, 200 PhantomReference) are live. Prints `cleared 700`, as
 * counted after a GC of its own: 400 weak, 100 both, 200 phantom.
 */
public class References {
    static class Weak { int x; }
    static class Soft { int x; }
    static class Phantom { int x; }
    static class Both { int x; }

    static final Reference<?>[] REFERENCES = new Reference<?>[1_050];
    static final Object[] STRONG = new Object[50];
    static final ReferenceQueue<Object> QUEUE = new ReferenceQueue<>();
    static int count;

    static void refer(Reference<?> reference) { REFERENCES[count++] = reference; }

    static void weak() { for (int i = 0; i < 400; i++) refer(new WeakReference<>(new Weak())); }
    static void soft() { for (int i = 0; i < 300; i++) refer(new SoftReference<>(new Soft())); }
    static void phantom() { for (int i = 0; i < 200; i++) refer(new PhantomReference<>(new Phantom(), QUEUE)); }

    static void both() {
        for (int i = 0; i < 150; i++) {
            Both both = new Both();
            refer(new WeakReference<>(both));
            if (i % 3 == 0) STRONG[i / 3] = both;
        }
    }

    public static void main(String[] args) throws Exception {
        weak();
        soft();
        phantom();
        both();
        System.gc();
        int cleared = 0;
        for (Reference<?> reference : REFERENCES) {
            if (reference instanceof WeakReference && reference.get() == null) cleared++;
        }
        while (cleared < 700) {
            QUEUE.remove();
            cleared++;
        }
        System.out.println("cleared " + cleared);
    }
}
