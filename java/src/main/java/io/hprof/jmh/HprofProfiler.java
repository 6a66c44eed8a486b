package io.hprof.jmh;

import io.hprof.Agent;
import io.hprof.Bundle;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.Locale;
import org.openjdk.jmh.infra.BenchmarkParams;
import org.openjdk.jmh.infra.IterationParams;
import org.openjdk.jmh.profile.ExternalProfiler;
import org.openjdk.jmh.profile.InternalProfiler;
import org.openjdk.jmh.profile.ProfilerException;
import org.openjdk.jmh.results.AggregationPolicy;
import org.openjdk.jmh.results.BenchmarkResult;
import org.openjdk.jmh.results.BenchmarkResultMetaData;
import org.openjdk.jmh.results.IterationResult;
import org.openjdk.jmh.results.Result;
import org.openjdk.jmh.results.ScalarResult;
import org.openjdk.jmh.runner.IterationType;

/**
 * JMH's profiler on the agent: {@code -prof io.hprof.jmh.HprofProfiler:heap=sites}.
 *
 * <p>With {@code heap=sites} it counts every object that the benchmark method allocates, and reports objects and
 * bytes per operation in total and by site; with {@code cpu=...} it samples. Either way each fork leaves its profile
 * and a flame graph in the folder {@code dir}. {@code mode=internal} (the default) profiles only the measurement
 * iterations, {@code mode=external} the whole fork from the start of its VM. Options of the agent are separated by
 * {@code ;}, as JMH requires.
 */
public final class HprofProfiler implements InternalProfiler, ExternalProfiler {
    private static final String LABEL = "hprof.";

    private final Settings settings;
    private Path profile;
    private int iterations;
    private long operations;
    /** The allocations of the iterations so far. */
    private Sites counted;
    /** The sites with separate results: the same in every iteration, or JMH would average with zeros. */
    private List<String> chosen;

    /** Creates a profiler without options: for allocation sites. */
    public HprofProfiler() throws ProfilerException {
        this("");
    }

    /** Creates a profiler with the user's options, JMH's {@code -prof NAME:OPTIONS}. */
    public HprofProfiler(String options) throws ProfilerException {
        settings = Settings.parse(options);
        try {
            Bundle.ofThisVm().command();
        } catch (IOException error) {
            throw new ProfilerException("hprof: " + error.getMessage());
        }
    }

    @Override
    public String getDescription() {
        return "HPROF: allocation sites with objects an operation, CPU samples, flame graphs";
    }

    @Override
    public void beforeIteration(BenchmarkParams benchmark, IterationParams iteration) {
        if (settings.isExternal() || iteration.getType() != IterationType.MEASUREMENT || profile != null) {
            return;
        }
        try {
            profile = settings.newProfile(benchmark);
            Agent.start(settings.agentOptions(profile));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    @SuppressWarnings("rawtypes") // as JMH declares it
    public Collection<? extends Result> afterIteration(
            BenchmarkParams benchmark, IterationParams iteration, IterationResult result) {
        if (settings.isExternal() || iteration.getType() != IterationType.MEASUREMENT) {
            return Collections.emptyList();
        }
        long ran = result.getMetadata().getAllOps();
        operations += ran;
        iterations++;
        boolean isLast = iterations == iteration.getCount();
        try {
            if (isLast) {
                Agent.stop();
            } else {
                Agent.dump();
            }
            List<Result<?>> results = new ArrayList<>();
            if (settings.countsSites()) {
                Sites sites = Sites.read(profile, benchmark.getBenchmark(), settings::isOwn);
                results.addAll(numbers(sites.since(counted), ran));
                counted = sites;
            }
            if (isLast) {
                tell(counted, operations);
                forget();
            }
            return results;
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public Collection<String> addJVMInvokeOptions(BenchmarkParams benchmark) {
        return Collections.emptyList();
    }

    @Override
    public Collection<String> addJVMOptions(BenchmarkParams benchmark) {
        if (!settings.isExternal()) {
            return Collections.emptyList();
        }
        try {
            profile = settings.newProfile(benchmark);
            return List.of("-agentpath:" + Bundle.ofThisVm().library() + "=" + settings.agentOptions(profile));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    @Override
    public void beforeTrial(BenchmarkParams benchmark) {}

    @Override
    @SuppressWarnings("rawtypes") // as JMH declares it
    public Collection<? extends Result> afterTrial(BenchmarkResult result, long pid, File out, File err) {
        if (!settings.isExternal() || profile == null) {
            return Collections.emptyList();
        }
        BenchmarkResultMetaData ran = result.getMetadata();
        long all = ran == null ? 0 : ran.getWarmupOps() + ran.getMeasurementOps();
        try {
            List<Result<?>> results = new ArrayList<>();
            Sites sites = null;
            if (settings.countsSites() && all > 0) {
                sites = Sites.read(profile, result.getParams().getBenchmark(), settings::isOwn);
                results.addAll(numbers(sites, all));
            }
            tell(sites, all);
            return results;
        } catch (IOException error) {
            throw new IllegalStateException(error);
        } finally {
            forget();
        }
    }

    @Override
    public boolean allowPrintOut() {
        return true;
    }

    @Override
    public boolean allowPrintErr() {
        return true;
    }

    private void forget() {
        profile = null;
        iterations = 0;
        operations = 0;
        counted = null;
        chosen = null;
    }

    private List<Result<?>> numbers(Sites sites, long operations) {
        List<Result<?>> results = new ArrayList<>();
        results.add(scalar("objects", sites.objects(), operations, "objects/op"));
        results.add(scalar("bytes", sites.bytes(), operations, "B/op"));
        if (chosen == null) {
            chosen = sites.costliest(settings.sites());
        }
        for (String site : chosen) {
            results.add(scalar("objects @ " + site, sites.objects(site), operations, "objects/op"));
        }
        return results;
    }

    /** Prints text that is not a number. As a result it would be a row of JMH's table, with NaN as the score. */
    private void tell(Sites sites, long operations) throws IOException {
        StringBuilder told = new StringBuilder();
        if (sites != null) {
            told.append(String.format(Locale.ROOT, "%nAllocated in %d operations, an operation:%n", operations));
            for (String site : sites.costliest(Integer.MAX_VALUE)) {
                told.append(String.format(Locale.ROOT, "%14.3f objects %14.3f B  %s%n",
                        (double) sites.objects(site) / operations, (double) sites.bytes(site) / operations, site));
            }
        }
        told.append(String.format("%nProfile: %s%nFlame graph: %s%n", profile, flameGraph()));
        System.out.print(told);
        System.out.flush();
    }

    private Path flameGraph() throws IOException {
        Path graph = profile.resolveSibling(profile.getFileName().toString().replaceFirst("\\.txt$", ".svg"));
        List<String> command = new ArrayList<>(List.of(
                Bundle.ofThisVm().command().toString(), "flame", "--output=" + graph));
        if (settings.countsSites()) {
            command.add("--value=alloc-objects");
        }
        // A name that begins with `-` is no option there.
        command.addAll(List.of("--", profile.toString()));
        Path log = Files.createTempFile("hprof-flame", ".log");
        try {
            Process drawn = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(log.toFile()).start();
            if (drawn.waitFor() != 0) {
                throw new IOException(Files.readString(log).trim());
            }
            return graph;
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted while the flame graph was drawn", interrupted);
        } finally {
            Files.delete(log);
        }
    }

    private static ScalarResult scalar(String name, long count, long operations, String unit) {
        return new ScalarResult(LABEL + name, (double) count / operations, unit, AggregationPolicy.AVG);
    }
}
