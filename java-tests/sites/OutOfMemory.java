/**
 * Fills the heap with `OutOfMemory$Block` objects, each with a `byte[1,000]` made in its constructor, until there is
 * no room; then lets go of them. Known answer: prints `oom` and ends with status 0; with the argument `die` the error
 * goes on and ends the program with status 1. Prints `blocks N`, the blocks that were whole: N or N + 1
 * `OutOfMemory$Block` and N `byte[]` have been allocated, and all are dead; with `die` too, because nothing refers to
 * them any more.
 */
public class OutOfMemory {
    static class Block {
        final Block before;
        final byte[] data;

        Block(Block before) {
            this.before = before;
            data = new byte[1_000];
        }
    }

    static Block last;
    static int blocks;

    static void fill() {
        while (true) {
            last = new Block(last);
            blocks++;
        }
    }

    public static void main(String[] args) {
        try {
            fill();
        } catch (OutOfMemoryError e) {
            last = null;
            System.out.println("oom");
            System.out.println("blocks " + blocks);
            if (args.length > 0) throw e;
        }
    }
}
