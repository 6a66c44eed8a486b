/**
 * Calls a method that does next to nothing, so that most of its time goes into making its frame and giving it up. It must not be
 * inlined: `-XX:CompileCommand=dontinline,Calls.next`. The argument is how many million calls there are.
 */
public class Calls {
    static int next(int n) {
        return n * 31 + 7;
    }

    static int call(int millions) {
        int n = 0;
        for (int i = 0; i < millions; i++) {
            for (int k = 0; k < 250_000; k++) n = next(next(next(next(n))));
        }
        return n;
    }

    public static void main(String[] args) {
        System.out.println("called " + call(Integer.parseInt(args[0])));
    }
}
