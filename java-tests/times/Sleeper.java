/** Sleeps for 600 ms in `nap`, on no CPU. */
public class Sleeper {
    static void nap() throws InterruptedException { Thread.sleep(600); }

    public static void main(String[] args) throws Exception {
        nap();
        System.out.println("done");
    }
}
