/**
 * Fills the heap with `OutOfMemory$Block` objects, each with a `short[500]` made in its constructor, until there is
 * no room; then lets go of them. Known answer: prints `oom` and ends with status 0; with the argument `die` the error
 * goes on and ends the program with status 1. Prints `blocks N`, the blocks that were whole: N or N + 1
 * `OutOfMemory$Block` and N `short[]` have been allocated, and all are dead; with `die` too, because nothing refers to
 * them any more.
 *
 * Not `byte[]`: when the VM has `Object.<init>` compiled, which it may be calling from the constructor here, it first makes the
 * strings of the string constants of `java.lang.Object` on this thread: on JDK 11 these are 3, each with a `byte[]`.
 */
public class OutOfMemory {
    static class Block {
        final Block before;
        final short[] data;

        Block(Block before) {
            this.before = before;
            data = new short[500];
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
