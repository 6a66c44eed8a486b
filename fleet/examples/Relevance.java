package example;

import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.api.java.UDF1;

/** How much a page has to do with a query: the job's own function, and where its time goes. */
public class Relevance implements UDF1<Long, Long> {
    private static final int WORDS = 400;

    @Override
    public Long call(Long page) {
        return score(words(page));
    }

    private static List<String> words(long page) {
        List<String> words = new ArrayList<>(WORDS);
        for (long word = 0; word < WORDS; word++) {
            words.add(Long.toString(page * 31 + word, 36));
        }
        return words;
    }

    private static long score(List<String> words) {
        long score = 0;
        for (String word : words) {
            for (int round = 0; round < 50; round++) {
                for (int at = 0; at < word.length(); at++) {
                    score = score * 31 + (word.charAt(at) ^ round);
                }
            }
        }
        return score;
    }
}
