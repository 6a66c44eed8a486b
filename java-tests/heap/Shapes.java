import java.lang.ref.SoftReference;
import java.lang.ref.WeakReference;
import java.util.ArrayList;
import java.util.List;

/**
 * Graphs with known retained sizes, with a VM whose objects have headers of 12 bytes, references of 4 and an alignment of 8.
 * Prints `ready` and lives until there is a file `go`. Known answers, in bytes:
 *
 *   Shapes$Ring      two objects of 24 that refer to each other, the first also to an array of 16 + 1000: the ring retains
 *                    1,064, the first of it all of that, the second only itself (24)
 *   Shapes$Left and Shapes$Right  each (24) refers to its own array of 16 + 200 and to one Shapes$Shared (16 + an array of
 *                    16 + 400 = 432): each retains 24 + 216 = 240, Shared 432, which belongs to neither
 *   Shapes$Weakly    is referred to by a WeakReference and by Shapes$Holder (16): Holder retains it (16) and its array of
 *                    16 + 800: 848 in all
 *   Shapes$Softly    is referred to by a SoftReference alone: alive, 16 bytes
 *   Shapes$Link      a list of as many as the first argument says, each 16: the first retains all, the last 16
 *   Shapes$Final     has a finalizer; Shapes$Owner (16) retains it (16, and an array of 16 + 600): 648 in all,
 *                    though the VM's Finalizer refers to it too
 */
public class Shapes {
    static class Ring { Ring other; byte[] data; }
    static class Shared { final byte[] data = new byte[400]; }
    static class Left { final byte[] own = new byte[200]; Shared shared; }
    static class Right { final byte[] own = new byte[200]; Shared shared; }
    static class Weakly { final byte[] data = new byte[800]; }
    static class Holder { Weakly held; }
    static class Softly { }
    static class Link { Link next; }
    static class Final {
        final byte[] data = new byte[600];
        @Override protected void finalize() { seen++; }
    }
    static class Owner { Final owned; }

    static int seen;
    static Ring ring;
    static Left left;
    static Right right;
    static Holder holder;
    static WeakReference<Weakly> weak;
    static SoftReference<Softly> soft;
    static Link first;
    static Owner owner;

    static void make(int links) {
        ring = new Ring();
        ring.other = new Ring();
        ring.other.other = ring;
        ring.data = new byte[1000];
        left = new Left();
        right = new Right();
        left.shared = right.shared = new Shared();
        holder = new Holder();
        holder.held = new Weakly();
        weak = new WeakReference<>(holder.held);
        soft = new SoftReference<>(new Softly());
        for (int i = 0; i < links; i++) {
            Link link = new Link();
            link.next = first;
            first = link;
        }
        owner = new Owner();
        owner.owned = new Final();
    }

    public static void main(String[] args) throws Exception {
        make(Integer.parseInt(args[0]));
        System.out.println("ready");
        while (!new java.io.File("go").exists()) Thread.sleep(20);
    }
}
