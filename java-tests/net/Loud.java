/**
 * Starts as many threads as its first argument says, one after the other, each with a name of 60,000 characters: as many
 * times 60 KB of profile. Prints `loud` and their number, and exits with status 5.
 */
public class Loud {
    public static void main(String[] args) throws InterruptedException {
        int count = Integer.parseInt(args[0]);
        String name = "x".repeat(60_000);
        for (int i = 0; i < count; i++) {
            Thread thread = new Thread(() -> {}, name + i);
            thread.start();
            thread.join();
        }
        System.out.println("loud " + count);
        System.exit(5);
    }
}
