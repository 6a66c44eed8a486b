/** Threads that live for some milliseconds, 20 at a time; every second one does three times the work. No clock is read. */
public class ShortLived {
    static void much() { double x = 1; for (int i = 0; i < 6_000_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }
    static void little() { double x = 1; for (int i = 0; i < 2_000_000; i++) x = x * 1.0000001 + 0.5; Truth.sink = x; }

    public static void main(String[] args) throws Exception {
        // Both are compiled before the first thread begins, so that no thread pays for that.
        for (int i = 0; i < 60; i++) {
            much();
            little();
        }
        Thread[] threads = new Thread[20];
        for (int round = 0; round < Truth.scaled(60); round++) {
            for (int i = 0; i < threads.length; i++) {
                threads[i] = new Thread(i % 2 == 0 ? ShortLived::much : ShortLived::little);
                threads[i].start();
            }
            for (Thread thread : threads) thread.join();
        }
        Truth.say("cpu", "ShortLived.much", "-", 3);
        Truth.say("cpu", "ShortLived.little", "-", 1);
    }
}
