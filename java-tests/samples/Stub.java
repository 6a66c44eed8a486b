/** Known answer: nearly all of its time is spent in a stub of the VM that `copy` calls for System.arraycopy. */
public class Stub {
    static final byte[] FROM = new byte[1 << 18];
    static final byte[] TO = new byte[1 << 18];

    static void copy(int at) {
        for (int i = 0; i < 60; i++) System.arraycopy(FROM, 0, TO, at + i, FROM.length - 200);
    }

    static void around() {
        copy(1);
        copy(3);
    }

    public static void main(String[] args) {
        for (int i = 0; i < 1_500; i++) around();
    }
}
