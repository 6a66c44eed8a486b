#!/usr/bin/env python3
"""Measures two commands at the same time, and compares the CPU time that they use.

    scripts/lib/measure_pairs.py [--rounds N] BARE... :: AGENT...

What a machine's neighbours take and give from minute to minute hits both alike. Each round starts one of each (12 rounds unless
told), and another of the two first than the round before; one round goes before, uncounted. The two must not write the same
files. Prints one line, tab between the fields: the medians of both CPU times in seconds, the geometric mean of the rounds'
ratios, and its standard error (nan for one round). A command that fails ends the measurement with status 1.
"""

import math
import os
import statistics
import subprocess
import sys

from measure import parse


def run_both(commands: list[list[str]]) -> list[float]:
    """CPU seconds of each."""
    quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    running = [subprocess.Popen(command, **quiet) for command in commands]
    numbers = {process.pid: number for number, process in enumerate(running)}
    seconds = [0.0, 0.0]
    for _ in commands:
        process, status, usage = os.wait4(-1, 0)
        if os.waitstatus_to_exitcode(status) != 0:
            for other in running:
                other.kill()
            sys.exit(f"measure_pairs.py: failed: {' '.join(commands[numbers[process]])}")
        seconds[numbers[process]] = usage.ru_utime + usage.ru_stime
    return seconds


def main() -> None:
    rounds, bare, agent = parse(12, __doc__)
    run_both([bare, agent])
    pairs = []
    for number in range(rounds):
        if number % 2 == 0:
            pairs.append(run_both([bare, agent]))
        else:
            pairs.append(run_both([agent, bare])[::-1])
    logarithms = [math.log(agent / bare) for bare, agent in pairs]
    ratio = math.exp(statistics.mean(logarithms))
    error = ratio * statistics.stdev(logarithms) / math.sqrt(rounds) if rounds > 1 else math.nan
    medians = [statistics.median(pair[which] for pair in pairs) for which in (0, 1)]
    print("\t".join(f"{field:.4f}" for field in (*medians, ratio, error)))


if __name__ == "__main__":
    main()
