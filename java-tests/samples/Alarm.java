import sun.misc.Signal;

/**
 * Handles SIGVTALRM itself, from its start on (argument `first`) or half a second later (`later`). Prints `ready`,
 * then `handling` when it does, `alarm` and a number for each signal that comes; it is busy for a minute.
 */
public class Alarm {
    static volatile double sink;
    static volatile boolean over;
    static int alarms;

    static void busy() {
        while (!over) {
            double x = 1;
            for (int i = 0; i < 500_000; i++) x = x * 1.0000001 + 0.5;
            sink = x;
        }
    }

    static synchronized void alarm(Signal signal) {
        System.out.println("alarm " + ++alarms);
    }

    static void handle() {
        Signal.handle(new Signal("VTALRM"), Alarm::alarm);
        System.out.println("handling");
    }

    public static void main(String[] args) throws Exception {
        Thread busy = new Thread(Alarm::busy, "busy");
        busy.setDaemon(true);
        busy.start();
        if (args[0].equals("first")) handle();
        System.out.println("ready");
        if (args[0].equals("later")) {
            Thread.sleep(500);
            handle();
        }
        Thread.sleep(60_000);
    }
}
