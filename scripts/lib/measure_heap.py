#!/usr/bin/env python3
"""Measures how a heap dump is analysed, against other tools on the same file, in turn.

    measure_heap.py --rounds N (--home JDK | --generator COMMAND) --cli HPROF --objects N --classes DIRECTORY
        [--analyzer COMMAND] [--slurp COMMAND] [--before HPROF --commit NAME]

The dump is the VM's own, of a program with so many objects, or one that the generator writes without a VM
(`crates/heap/examples/generate_dump.rs`). Prints one line for each command, tab-separated: its name, seconds of
CPU, peak MB of resident memory, bytes an object beside the file (of hprof, which maps it; what it needs for a dump of a thousand
objects does not count), and how many times as much CPU another tool takes as the command of hprof that does the same; medians of the
rounds. The mapped file is part of a peak. With the hprof of another commit, both also run on one processor alone.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile

from measure_read import dump

# The objects of a small dump.
FEW = "1000"
# What is asked of hprof.
QUESTIONS = ["leaks", "histogram"]


def run(command: list[str]) -> tuple[float, float]:
    """Seconds of CPU and peak MB."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def without_index(hprof: str) -> list[str]:
    """The option that keeps the first question from writing an index for the others; older commits have neither."""
    help_text = subprocess.run([hprof, "heap", "leaks", "--help"], capture_output=True, text=True, check=True).stdout
    return ["--no-index"] if "--no-index" in help_text else []


def write_dump(options, file: pathlib.Path, objects: str) -> None:
    if options.generator:
        subprocess.run([options.generator, objects, str(file)], check=True, stdout=subprocess.DEVNULL)
    else:
        dump(options, file, objects)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rounds", "cli", "objects", "classes"):
        parser.add_argument(f"--{name}", required=True)
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--home")
    source.add_argument("--generator")
    parser.add_argument("--analyzer")
    parser.add_argument("--slurp")
    parser.add_argument("--before")
    parser.add_argument("--commit")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.classes) as folder:
        file = str(pathlib.Path(folder) / "x.hprof")
        write_dump(options, pathlib.Path(file), options.objects)
        subprocess.run(["cat", file], check=True, stdout=subprocess.DEVNULL)
        commands = {f"hprof heap {question}": [options.cli, "heap", question, *without_index(options.cli), file] for question in QUESTIONS}
        # Which command of hprof does what another command does.
        rivals = {}
        if options.analyzer:
            commands["hprof-analyzer"] = [options.analyzer, file]
            rivals["hprof-analyzer"] = "hprof heap leaks"
        if options.slurp:
            commands["hprof-slurp"] = [options.slurp, file]
            rivals["hprof-slurp"] = "hprof heap histogram"
        if options.before:
            for question in QUESTIONS:
                name = f"hprof heap {question}"
                old, alone = f"{name} of {options.commit}", f"{name}, one processor"
                one = ["taskset", "-c", "0"]
                command = commands[name]
                commands[old] = [options.before, "heap", question, *without_index(options.before), file]
                commands[alone] = one + command
                commands[f"{old}, one processor"] = one + commands[old]
                rivals |= {old: name, alone: name, f"{old}, one processor": alone}
        rounds = {name: [] for name in commands}
        for _ in range(int(options.rounds)):
            for name, command in commands.items():
                rounds[name].append(run(command))
        size = os.path.getsize(file) / 2**20
        few = str(pathlib.Path(folder) / "few.hprof")
        write_dump(options, pathlib.Path(few), FEW)
        few_size = os.path.getsize(few) / 2**20
        for name, figures in rounds.items():
            seconds, peak = (statistics.median(column) for column in zip(*figures))
            own = rivals.get(name)
            each = ""
            if not own:
                _, few_peak = run([few if part == file else part for part in commands[name]])
                beside = (peak - size) - (few_peak - few_size)
                each = f"{beside * 2**20 / int(options.objects):.1f}"
            ratio = ""
            if own:
                ratios = [theirs[0] / ours[0] for theirs, ours in zip(figures, rounds[own])]
                ratio = f"{statistics.median(ratios):.2f}"
            print(f"{name}\t{seconds:.3g}\t{peak:.4g}\t{each}\t{ratio}")


if __name__ == "__main__":
    main()
