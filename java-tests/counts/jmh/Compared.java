package org.example;

import io.hprof.Count;
import io.hprof.Hprof;
import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;

/** A benchmark of which everything escapes; its main method prints the bytes of one operation as counted. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@OutputTimeUnit(TimeUnit.NANOSECONDS)
@Warmup(iterations = 2, time = 200, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 3, time = 200, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class Compared {
    private int operations;

    @Benchmark
    public Object make() {
        operations = (operations + 1) % 1_000_000;
        Object[] all = new Object[20];
        for (int i = 0; i < all.length; i++) {
            all[i] = "operation " + (1_000_000 + operations + i);
        }
        return all;
    }

    public static void main(String[] args) {
        Compared compared = new Compared();
        compared.make();
        try (Count counted = Hprof.count()) {
            compared.make();
            System.out.println("bytes " + counted.bytes());
        }
    }
}
