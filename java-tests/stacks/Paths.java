// Makes one Leaf in each call of a tree of calls: each call makes two more, from different lines, down to the twelfth level below the
// first. So there are 2^13 - 1 = 8,191 stacks that end in a handful of frames, and the tree is walked over twice: two leaves a
// stack.

public class Paths {
    static volatile Object sink;

    static final class Leaf {}

    static void call(int levels) {
        sink = new Leaf();
        if (levels > 0) {
            call(levels - 1);
            call(levels - 1);
        }
    }

    public static void main(String[] args) {
        for (int round = 0; round < 2; round++) {
            call(12);
        }
        System.out.println("ended");
    }
}
