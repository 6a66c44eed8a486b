package org.example;

import java.util.concurrent.TimeUnit;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.infra.Blackhole;

/** An operation makes 3 nodes of 24 bytes (2 at one site, 1 at another) and an array of 1000 bytes; its set-up is not counted. */
@State(Scope.Thread)
@BenchmarkMode(Mode.AverageTime)
@Warmup(iterations = 1, time = 100, timeUnit = TimeUnit.MILLISECONDS)
@Measurement(iterations = 2, time = 100, timeUnit = TimeUnit.MILLISECONDS)
@Fork(1)
public class Allocating {
    static class Node {
        Object a;
        long b;
    }

    Object prepared;

    @Setup(Level.Invocation)
    public void prepare() {
        prepared = new Node[4];
    }

    @Benchmark
    public void make(Blackhole hole) {
        for (int i = 0; i < 2; i++) {
            hole.consume(new Node());
        }
        hole.consume(new Node());
        hole.consume(new byte[984]);
    }
}
