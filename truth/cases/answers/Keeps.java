import java.util.ArrayList;
import java.util.List;

/** What fills the memory, and what has come since? A static list keeps 2,000 sessions, and 500 more before the second look. */
// asks: heap redact memory
public final class Keeps {
    static final class Session {
        final byte[] state = new byte[1_000];
        final String user;
        long a, b, c, d;

        Session(String user) {
            this.user = user;
        }
    }

    static final List<Session> SESSIONS = new ArrayList<>();

    static void log(int count) {
        for (int i = 0; i < count; i++) SESSIONS.add(new Session("secret user " + i));
    }

    public static void main(String[] args) {
        log(2_000);
        if (args.length > 0 && args[0].equals("stays")) {
            Truth.ready();
            log(500);
            Truth.ready();
            Truth.say("more_objects", "-", "Keeps$Session", 500);
            Truth.say("more_objects", "-", "byte[]", 1_000, 1_100);
            return;
        }
        Truth.say("live_objects", "-", "Keeps$Session", 2_000);
        Truth.say("live_bytes", "-", "Keeps$Session", 2_000 * Truth.object(32, 2));
        Truth.say("suspects", "Keeps.SESSIONS", "Keeps$Session", 1);
        Truth.say("secrets", "-", "-", 0);
    }
}
