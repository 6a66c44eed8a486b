import io.hprof.Count;
import io.hprof.Hprof;

/** A virtual thread cannot be counted alone, but with all others: 10 objects of its own. */
public class Virtual21 {
    static class Thing {}

    static Object[] kept = new Object[10];

    public static void main(String[] args) throws Exception {
        Thread.ofVirtual().start(Virtual21::count).join();
    }

    static void count() {
        try {
            Hprof.count();
            System.out.println("counted");
        } catch (IllegalStateException refused) {
            System.out.println(refused.getMessage());
        }
        try (Count counted = Hprof.countAllThreads()) {
            for (int i = 0; i < kept.length; i++) {
                kept[i] = new Thing();
            }
            System.out.println(counted.sites().stream().filter(site -> site.className().equals("Virtual21$Thing"))
                    .mapToLong(site -> site.objects()).sum() + " things");
        }
    }
}
