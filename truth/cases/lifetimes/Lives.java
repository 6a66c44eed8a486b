/**
 * Objects that die before the first collection, objects that survive one, three and six, which the program forces, and objects that
 * are alive at the end, half of them old and half of them young.
 */
public class Lives {
    static class Temporary { int number; }
    static class Once { int number; }
    static class Thrice { int number; }
    static class Six { int number; }
    static class Old { int number; }
    static class Young { int number; }
    static class Garbage { int number; }

    static Object[] once, thrice, six, old, young;

    static void temporary(int n) { for (int i = 0; i < n; i++) Truth.kept = new Temporary(); }

    static Object[] once(int n) { Object[] made = new Object[n]; for (int i = 0; i < n; i++) made[i] = new Once(); return made; }
    static Object[] thrice(int n) { Object[] made = new Object[n]; for (int i = 0; i < n; i++) made[i] = new Thrice(); return made; }
    static Object[] six(int n) { Object[] made = new Object[n]; for (int i = 0; i < n; i++) made[i] = new Six(); return made; }
    static Object[] old(int n) { Object[] made = new Object[n]; for (int i = 0; i < n; i++) made[i] = new Old(); return made; }
    static Object[] young(int n) { Object[] made = new Object[n]; for (int i = 0; i < n; i++) made[i] = new Young(); return made; }

    /** Objects that die at once tell that a collection is over where nothing else does. */
    static void collect() throws InterruptedException {
        for (int i = 0; i < 100; i++) Truth.kept = new Garbage();
        Truth.kept = null;
        System.gc();
        Thread.sleep(250);
    }

    public static void main(String[] args) throws Exception {
        Truth.load();
        old = old(3_000);
        temporary(20_000);
        once = once(4_000);
        thrice = thrice(5_000);
        six = six(6_000);
        collect();
        once = null;
        collect();
        collect();
        thrice = null;
        collect();
        collect();
        collect();
        six = null;
        collect();
        // 3 s between the births of the old and the young; what is asked for is more than 2 s.
        Thread.sleep(1_250);
        young = young(3_500);
        Truth.ready();
        Known.say();
    }

    /**
     * A method of its own: the VM makes the strings of a class before it compiles one of its methods, on the thread and in the
     * method that cause it to.
     */
    static class Known {
        static void say() {
            Truth.say("temporary_objects", "Lives.temporary", "Lives$Temporary", 20_000);
            Truth.say("survived_objects", "Lives.temporary", "Lives$Temporary", 0);
            Truth.say("temporary_objects", "Lives.once", "Lives$Once", 0);
            Truth.say("survived_objects", "Lives.once", "Lives$Once", 4_000);
            Truth.say("survived_objects", "Lives.thrice", "Lives$Thrice", 5_000);
            Truth.say("survived_objects", "Lives.six", "Lives$Six", 6_000);
            Truth.say("survived_objects", "Lives.old", "Lives$Old", 3_000);
            Truth.say("live_objects", "Lives.six", "Lives$Six", 0);
            Truth.say("live_objects", "Lives.old", "Lives$Old", 3_000);
            Truth.say("live_objects", "Lives.young", "Lives$Young", 3_500);
            Truth.say("older_than_2s", "-", "Lives$Old", 3_000);
            Truth.say("older_than_2s", "-", "Lives$Young", 0);
        }
    }
}
