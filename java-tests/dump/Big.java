/**
 * Makes as many objects as its first argument says, all alive: nodes of a tree, every second with an array of bytes or of
 * references. Prints `ready` and stays until it is killed. For measurements: a dump of 10.5 M objects is 490 MB.
 */
public class Big {
    static class Node {
        final long number;
        final Node above;
        final Object data;
        Node(long number, Node above, Object data) { this.number = number; this.above = above; this.data = data; }
    }

    static Node[] kept;

    static Object data(int number, Node above) {
        switch (number & 3) {
            case 0: return new byte[number & 31];
            case 1: return new Object[] {above, above};
            default: return null;
        }
    }

    public static void main(String[] args) throws Exception {
        // A node and half an array each.
        int nodes = (int) (Long.parseLong(args[0]) * 2 / 3);
        kept = new Node[nodes];
        for (int i = 0; i < nodes; i++) {
            Node above = i == 0 ? null : kept[i >>> 1];
            kept[i] = new Node(i, above, data(i, above));
        }
        System.out.println("ready");
        Thread.currentThread().join();
    }
}
