/**
 * Lives in a heap of 16 MB (`-Xmx16m`), most of which it needs. Known answer: 100,000 live `NearlyFull$Node` and
 * 100,000 live `short[24]` made in `NearlyFull$Node.<init>`, some 9 MB; every twentieth node is replaced in each of
 * 100 rounds, so that 600,000 of either are allocated; 2,000,000 `NearlyFull$Junk` are allocated and dead. Prints
 * `checksum N`, which depends on all that is kept. (Not `byte[]`: see OutOfMemory.)
 */
public class NearlyFull {
    static class Node {
        final int value;
        final short[] data;

        Node(int value) {
            this.value = value;
            data = new short[24];
            data[value % 24] = (short) value;
        }
    }

    static class Junk { long a; long b; }

    static final Node[] NODES = new Node[100_000];
    static volatile Object sink;

    static void junk(int n) { for (int i = 0; i < n; i++) sink = new Junk(); }

    public static void main(String[] args) {
        for (int i = 0; i < NODES.length; i++) NODES[i] = new Node(i);
        for (int round = 0; round < 100; round++) {
            for (int i = round % 20; i < NODES.length; i += 20) NODES[i] = new Node(i + round);
            junk(20_000);
        }
        sink = null;
        long checksum = 0;
        for (Node node : NODES) checksum = checksum * 31 + node.value + node.data[node.value % 24];
        System.out.println("checksum " + checksum);
    }
}
