import sun.misc.Signal;

/**
 * Handles a signal itself, from its start on (argument `first`) or half a second later (`later`): SIGVTALRM, or the one named by
 * a second argument. Prints `ready`,
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

    static void handle(String signal) {
        Signal.handle(new Signal(signal), Alarm::alarm);
        System.out.println("handling");
    }

    public static void main(String[] args) throws Exception {
        Thread busy = new Thread(Alarm::busy, "busy");
        busy.setDaemon(true);
        busy.start();
        String signal = args.length > 1 ? args[1] : "VTALRM";
        if (args[0].equals("first")) handle(signal);
        System.out.println("ready");
        if (args[0].equals("later")) {
            Thread.sleep(500);
            handle(signal);
        }
        Thread.sleep(60_000);
    }
}
