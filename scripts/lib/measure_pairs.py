#!/usr/bin/env python3
"""Measures two commands at the same time, and compares the CPU time that they use.

    scripts/lib/measure_pairs.py [--rounds N] BARE... :: AGENT...

What a machine's neighbours take and give from minute to minute hits both alike. Each round starts one of each (12 rounds unless
told), and another of the two first than the round before; one round goes before, uncounted. The two must not write the same
files. Prints one line, tab between the fields: the medians of both CPU times in seconds, the geometric mean of the rounds'
ratios, and its standard error. A command that fails ends the measurement with status 1.
"""

import math
import os
import statistics
import subprocess
import sys


def run_both(commands: list[list[str]]) -> list[float]:
    """CPU seconds of each."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    numbers = {subprocess.Popen(command, **quiet).pid: number for number, command in enumerate(commands)}
    seconds = [0.0, 0.0]
    for _ in commands:
        process, status, usage = os.wait4(-1, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            sys.exit(f"measure_pairs.py: failed: {' '.join(commands[numbers[process]])}")
        seconds[numbers[process]] = usage.ru_utime + usage.ru_stime
    return seconds


def main() -> None:
    arguments = sys.argv[1:]
    rounds = 12
    if arguments[:1] == ["--rounds"]:
        rounds = int(arguments[1])
        arguments = arguments[2:]
    if "::" not in arguments or rounds < 2:
        sys.exit(__doc__)
    split = arguments.index("::")
    bare, agent = arguments[:split], arguments[split + 1 :]
    run_both([bare, agent])
    pairs = []
    for number in range(rounds):
        if number % 2 == 0:
            pairs.append(run_both([bare, agent]))
        else:
            pairs.append(run_both([agent, bare])[::-1])
    logarithms = [math.log(agent / bare) for bare, agent in pairs]
    ratio = math.exp(statistics.mean(logarithms))
    error = ratio * statistics.stdev(logarithms) / math.sqrt(rounds)
    medians = [statistics.median(pair[which] for pair in pairs) for which in (0, 1)]
    print("\t".join(f"{field:.4f}" for field in (*medians, ratio, error)))


if __name__ == "__main__":
    main()
