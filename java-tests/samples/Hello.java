/** Prints one line and ends. Known answer: `hello`; next to no CPU, so a profile may hold no sample at all. */
public class Hello {
    public static void main(String[] args) {
        System.out.println("hello");
    }
}
