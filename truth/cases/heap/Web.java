// variant second: -Dweb.seed=8
// variant tree: -Dweb.seed=15 -Dweb.others=0
// variant dense: -Dweb.seed=16 -Dweb.others=2
import java.util.Random;

/**
 * A random graph: each node has a number, up to four references in an array and one in a field, all drawn with a known seed: a tree,
 * and as many edges besides as the variant asks for. Every edge must be in the dump, and no other. Retained sizes are held to their
 * definition: what is no longer reachable without the node.
 */
public class Web {
    static class Node {
        final int number;
        Node next;
        Node[] others;
        Node(int number) { this.number = number; }
    }

    static final int N = 2_000;
    static final long SEED = Long.getLong("web.seed", 4711);
    /** Of the places that the tree leaves empty, one in so many has an edge that leads anywhere; 0 for none. */
    static final int OTHERS = Integer.getInteger("web.others", 20);
    static Node first;

    public static void main(String[] args) {
        Random random = new Random(SEED);
        Node[] nodes = new Node[N];
        for (int i = 0; i < N; i++) nodes[i] = new Node(i);
        // Each hangs on an earlier one, so that all are reachable from the first; the rest of the edges lead anywhere.
        for (int i = 0; i < N; i++) nodes[i].others = new Node[random.nextInt(5)];
        first = nodes[0];
        first.others = new Node[] {null, null, null, null};
        for (int i = 1; i < N; i++) hang(nodes, i, random);
        for (int i = 0; i < N; i++) {
            for (int j = 0; j < nodes[i].others.length; j++) {
                if (nodes[i].others[j] == null && OTHERS > 0 && random.nextInt(OTHERS) == 0) nodes[i].others[j] = nodes[random.nextInt(N)];
            }
        }
        String facts = facts(nodes);
        nodes = null;
        Truth.ready();
        System.out.print(facts);
        Truth.say("live_objects", "-", "Web$Node", N);
    }

    static void hang(Node[] nodes, int i, Random random) {
        while (true) {
            Node from = nodes[random.nextInt(i)];
            int slot = random.nextInt(from.others.length + 1);
            if (slot == from.others.length && from.next == null) {
                from.next = nodes[i];
                return;
            }
            if (slot < from.others.length && from.others[slot] == null) {
                from.others[slot] = nodes[i];
                return;
            }
        }
    }

    static String facts(Node[] nodes) {
        StringBuilder facts = new StringBuilder();
        for (Node node : nodes) {
            facts.append("fact node Web$Node ").append(node.number).append(' ').append(number(node.next));
            for (Node other : node.others) facts.append(' ').append(number(other));
            facts.append('\n');
        }
        return facts.append("fact retained Web$Node\n").toString();
    }

    static int number(Node node) { return node == null ? -1 : node.number; }
}
