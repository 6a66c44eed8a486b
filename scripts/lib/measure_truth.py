#!/usr/bin/env python3
"""How far CPU samples are from the truth, on programs that say themselves what each of their methods took.

    measure_truth.py --agent FILE --classes DIR --kinds FILE [--rounds N] [--async-profiler FILE]

--kinds has lines `<feature> <home>`. Prints a row for each JVM, program and interval: the total variation distance of the
samples of engine=async, of engine=jvmti and of async-profiler (its timers on CPU clocks) from the truth (0 is right, 1 is
wrong in everything), the median of the rounds, and what async says of samples without a Java frame. A sample belongs to the
innermost method of its trace that the program names; samples of none (the VM's start, reading clocks) are left out, up to a
fifth of all.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

PROGRAMS = ["Turns", "Inlined", "Ratio", "Block", "Native", "Deep", "Counts", "Virtual21"]
INTERVALS = [10, 4]
PROFILERS = ["async", "jvmti"]


def run(home, arguments, program, profiler, interval, folder):
    """The truth, the samples by method, and what the agent said."""
    profile = folder / "profile.txt"
    if profiler == "async-profiler":
        options = f"start,event=ctimer,interval={interval}ms,jstackdepth=600,collapsed,file={profile}"
        agent, read = arguments.async_profiler, collapsed
    else:
        options = f"cpu=samples,engine={profiler},interval={interval},depth=600,cutoff=0,verbose=y,file={profile}"
        agent, read = arguments.agent, samples
    command = [f"{home}/bin/java", f"-agentpath:{agent}={options}", "-Xmx256m", "-cp", arguments.classes, program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"{program} on {home} failed: {done.stderr}")
    truth = {name: int(amount) for name, amount in re.findall(r"^truth (\S+) (\d+)$", done.stdout, re.M)}
    said = re.search(r"\((\d+\.\d+) %\) without", done.stderr)
    return truth, read(profile.read_text(), truth), said[1] if said else "-"


def collapsed(text, truth):
    """As `samples`, of lines with the frames of a stack, the innermost last, and how often it was seen."""
    counts = {}
    for line in text.splitlines():
        stack, _, count = line.rpartition(" ")
        methods = (frame.split("_[")[0].replace("/", ".") for frame in reversed(stack.split(";")))
        owner = next((method for method in methods if method in truth), None)
        counts[owner] = counts.get(owner, 0) + int(count)
    return counts


def samples(text, truth):
    """Samples by the innermost method of `truth`; None for those of none."""
    owners = {}
    for trace, frames in re.findall(r"^TRACE (\d+):[^\n]*\n((?:\t.*\n)+)", text, re.M):
        methods = (frame.strip().split("(")[0] for frame in frames.splitlines())
        owners[trace] = next((method for method in methods if method in truth), None)
    counts = {}
    table = text.split("CPU SAMPLES BEGIN")[1].split("CPU SAMPLES END")[0]
    for count, trace in re.findall(r"^ *\d+ +\S+ +\S+ +(\d+) (\d+) ", table, re.M):
        owner = owners.get(trace)
        counts[owner] = counts.get(owner, 0) + int(count)
    return counts


def distance(truth, counts):
    """Half the sum of the differences of the shares."""
    used, all_samples = sum(truth.values()), sum(counts.values())
    named = sum(counts.get(name, 0) for name in truth)
    if named < 0.8 * all_samples:
        return 1 - named / all_samples
    return sum(abs(truth[name] / used - counts.get(name, 0) / named) for name in truth) / 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--kinds", required=True)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--async-profiler")
    arguments = parser.parse_args()
    profilers = PROFILERS + (["async-profiler"] if arguments.async_profiler else [])
    kinds = [line.split()[:2] for line in pathlib.Path(arguments.kinds).read_text().splitlines()]
    for feature, home in kinds:
        for program in PROGRAMS:
            if program.endswith("21") and int(feature) < 21:
                continue
            for interval in INTERVALS:
                errors = {profiler: [] for profiler in profilers}
                for _ in range(arguments.rounds):
                    for profiler in profilers:
                        with tempfile.TemporaryDirectory() as folder:
                            truth, counts, said = run(home, arguments, program, profiler, interval, pathlib.Path(folder))
                        errors[profiler].append(distance(truth, counts))
                        if profiler == "async":
                            without, number = said, sum(counts.values())
                row = [f"{statistics.median(errors[profiler]):.3f}" for profiler in profilers] + ["-"]
                cells = [feature, program, interval, *row[:3], number, without]
                print(f"| {' | '.join(map(str, cells))} |", flush=True)


main()
