/**
 * Holds as many objects as its first argument says, as `Big` does. One thread reads the clock all the time and changes one of the
 * objects at each look, in turn. Prints `ready`, and then a line for each 20 ms: the milliseconds of System.currentTimeMillis(), the
 * longest time between two looks in microseconds, and the number of looks.
 */
public class Pauses {
    static class Node {
        long number;
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

    public static void main(String[] args) {
        int nodes = (int) (Long.parseLong(args[0]) * 2 / 3);
        kept = new Node[nodes];
        for (int i = 0; i < nodes; i++) {
            Node above = i == 0 ? null : kept[i >>> 1];
            kept[i] = new Node(i, above, data(i, above));
        }
        System.gc();
        System.out.println("ready");
        StringBuilder line = new StringBuilder();
        long last = System.nanoTime(), begin = last, longest = 0, looks = 0;
        for (int i = 0; ; i = i + 1 == nodes ? 0 : i + 1) {
            kept[i].number++;
            looks++;
            long now = System.nanoTime();
            longest = Math.max(longest, now - last);
            last = now;
            if (now - begin > 20_000_000) {
                line.setLength(0);
                line.append(System.currentTimeMillis()).append(' ').append(longest / 1_000).append(' ').append(looks);
                System.out.println(line);
                longest = looks = 0;
                begin = last = System.nanoTime();
            }
        }
    }
}
