/**
 * Runs the program that its first argument names, prints `ready` and stays until it is killed. Known answer: whatever
 * that program keeps in static fields is alive all the while; without an argument nothing is.
 */
public class Waits {
    public static void main(String[] args) throws Exception {
        Object none = new String[0];
        if (args.length > 0) Class.forName(args[0]).getMethod("main", String[].class).invoke(null, none);
        System.out.println("ready");
        Thread.currentThread().join();
    }
}
