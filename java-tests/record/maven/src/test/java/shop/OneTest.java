package shop;

import static org.junit.Assert.assertEquals;
import static org.junit.Assert.assertTrue;

import org.junit.Test;

/** Uses CPU time in {@code Prices.total}. */
public class OneTest {
    @Test
    public void totalsArePositive() {
        assertEquals("two words", System.getProperty("note"));
        assertTrue(Prices.total(30_000_000) > 0);
    }
}
