// needs: java 21
import java.util.concurrent.locks.LockSupport;

/** Objects that only frames of virtual threads keep alive: of one that runs on a carrier, and of one that is parked and has none. */
public class VirtualRoots {
    static class InRunning { int mark = 4721; }
    static class InParked { int mark = 4722; }
    static class InCaller { int mark = 4723; }

    static volatile boolean up, over;
    static volatile long sum;

    static void runs() {
        InRunning local = new InRunning();
        up = true;
        while (!over) sum++;
        if (local.mark == 0) throw new AssertionError();
    }

    static void parks() {
        InParked local = new InParked();
        while (!over) LockSupport.park();
        if (local.mark == 0) throw new AssertionError();
    }

    static void calls() {
        InCaller local = new InCaller();
        parks();
        if (local.mark == 0) throw new AssertionError();
    }

    public static void main(String[] args) throws Exception {
        Thread parked = Thread.ofVirtual().name("parked one").start(VirtualRoots::calls);
        Thread running = Thread.ofVirtual().name("running one").start(VirtualRoots::runs);
        while (!up || parked.getState() != Thread.State.WAITING) Thread.sleep(1);
        System.gc();
        Truth.ready();
        over = true;
        LockSupport.unpark(parked);
        parked.join();
        running.join();
        System.out.println("fact frame running_one VirtualRoots.runs VirtualRoots$InRunning");
        System.out.println("fact frame parked_one VirtualRoots.parks VirtualRoots$InParked");
        System.out.println("fact frame parked_one VirtualRoots.calls VirtualRoots$InCaller");
        Truth.say("live_objects", "-", "VirtualRoots$InRunning", 1);
        Truth.say("live_objects", "-", "VirtualRoots$InParked", 1);
        Truth.say("live_objects", "-", "VirtualRoots$InCaller", 1);
    }
}
