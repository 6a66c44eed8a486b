/**
 * Makes objects at eight places, each of which leaves its number in the object, and keeps them: as many as its first
 * argument says. Known answer: the innermost frame of the trace of a `Traces$Made` with `site` N is `Traces.siteN`; that of
 * the array in its field `data` too.
 */
public class Traces {
    static class Made {
        final int site;
        final byte[] data;
        Made(int site, byte[] data) { this.site = site; this.data = data; }
    }

    static Made[] kept;
    static volatile Object garbage;

    static Made site0() { return new Made(0, new byte[0]); }
    static Made site1() { return new Made(1, new byte[1]); }
    static Made site2() { return new Made(2, null); }
    static Made site3() { return new Made(3, new byte[17]); }
    static Made site4() { return new Made(4, null); }
    static Made site5() { return new Made(5, new byte[2]); }
    static Made site6() { return new Made(6, null); }
    static Made site7() { return new Made(7, new byte[40]); }

    public static void main(String[] args) {
        int count = Integer.parseInt(args[0]);
        kept = new Made[count];
        int random = 4711;
        for (int i = 0; i < count; i++) {
            random = random * 1103515245 + 12345;
            Made made;
            switch ((random >>> 16) & 7) {
                case 0: made = site0(); break;
                case 1: made = site1(); break;
                case 2: made = site2(); break;
                case 3: made = site3(); break;
                case 4: made = site4(); break;
                case 5: made = site5(); break;
                case 6: made = site6(); break;
                default: made = site7();
            }
            kept[i] = made;
            // Garbage between them, so that the collector has something to move.
            if (i % 3 == 0) garbage = site3();
        }
        System.out.println("made " + count);
    }
}
