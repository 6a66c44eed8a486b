import java.lang.reflect.Array;

/**
 * Four threads make arrays of six classes, 8,000 of each, all in one place and in turn, while a fifth has garbage collected all the time.
 * Truth: 32,000 arrays of each of OnePlace$A, OnePlace$B, ... OnePlace$F, in OnePlace.make, of which those of the last turn of
 * each thread stay: 4 of each class.
 */
public class OnePlace {
    static final int THREADS = 4;
    static final int TURNS = 8_000;

    static class A {}

    static class B {}

    static class C {}

    static class D {}

    static class E {}

    static class F {}

    static final Class<?>[] CLASSES = {A.class, B.class, C.class, D.class, E.class, F.class};
    static final Object[][] KEPT = new Object[THREADS][CLASSES.length];
    static volatile boolean ended;
    static volatile Object garbage;

    static Object make(Class<?> of) {
        return Array.newInstance(of, 1);
    }

    public static void main(String[] args) throws Exception {
        Thread collector = new Thread(() -> {
            while (!ended) {
                garbage = new byte[1000];
                System.gc();
            }
        });
        collector.start();
        Thread[] threads = new Thread[THREADS];
        for (int thread = 0; thread < THREADS; thread++) {
            Object[] kept = KEPT[thread];
            threads[thread] = new Thread(() -> {
                for (int turn = 0; turn < TURNS; turn++) {
                    for (int i = 0; i < CLASSES.length; i++) {
                        kept[i] = make(CLASSES[i]);
                    }
                }
            });
            threads[thread].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
        ended = true;
        collector.join();
    }
}
