#!/usr/bin/env python3
"""Measures what the commands of `hprof record` cost, in turn with runs of the same program without them.

    scripts/lib/measure_commands.py [--rounds N] --hprof FILE --folder DIR NAME=COMMAND ...

A COMMAND is split as a shell splits it. Each round (5 unless told) runs each program without a profile, then with each command,
with whole stacks and with four frames; one round goes before, uncounted. Prints a Markdown table: for each command the geometric mean
of the rounds' ratios of elapsed times, and its standard error. A command that fails ends the measurement with status 1.
"""

import argparse
import math
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess
import sys
import time

# What `hprof record` takes, and the options that it then uses, for other depths. The depth is the last of several.
COMMANDS = {
    "record cpu": "cpu=samples,format=b,verbose=n",
    "record wall": "wall=y,format=b,verbose=n",
    "record locks": "monitor=y,verbose=n",
    "record alloc": "heap=sites,lifetimes=y,sort=alloc,format=b,verbose=n",
    "record calls": "cpu=times,clock=auto,fold=y,verbose=n",
}


def elapsed(command: list[str]) -> float:
    begin = time.monotonic()
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"measure_commands.py: failed: {shlex.join(command)}: {done.stderr[-300:]}")
    return time.monotonic() - begin


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--hprof", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("programs", nargs="+", metavar="NAME=COMMAND")
    options = parser.parse_args()
    programs = [program.split("=", 1) for program in options.programs]
    print(f"| command | {' | '.join(name for name, _ in programs)} |")
    print(f"|---|{'---|' * len(programs)}", flush=True)
    columns = [ratios(options, shlex.split(command)) for _, command in programs]
    for row in columns[0]:
        print(f"| {row} | {' | '.join(column[row] for column in columns)} |")


def ratios(options: argparse.Namespace, program: list[str]) -> dict[str, str]:
    recorded: dict[str, list[float]] = {}
    for number in range(options.rounds + 1):
        bare = elapsed(program)
        for name, agent_options in COMMANDS.items():
            for what, label in [
                (name.split()[1], f"`hprof {name}`"),
                (f"{agent_options},depth=4", f"the same with `depth=4`, {name.split()[1]}"),
            ]:
                shutil.rmtree(options.folder, ignore_errors=True)
                took = elapsed([options.hprof, "record", "--dir", os.fspath(options.folder), what, "--", *program])
                if number > 0:
                    recorded.setdefault(label, []).append(math.log(took / bare))
    return {label: mean(logarithms) for label, logarithms in recorded.items()}


def mean(logarithms: list[float]) -> str:
    ratio = math.exp(statistics.mean(logarithms))
    error = ratio * statistics.stdev(logarithms) / math.sqrt(len(logarithms)) if len(logarithms) > 1 else math.nan
    return f"{ratio:.2f} ± {error:.2f}"


if __name__ == "__main__":
    main()
