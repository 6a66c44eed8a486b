#!/usr/bin/env python3
"""Measures two commands in turn and compares what they cost.

    scripts/lib/measure.py [--rounds N] BARE... :: AGENT...

Runs each N times (5 unless told), one after the other, and changes which goes first from round to round. One run of
each goes before, uncounted, so that both find the files in memory. Prints one line, tab between the fields, every
figure the median over the rounds:

    bare CPU s, agent CPU s, CPU ratio, bare wall s, agent wall s, wall ratio, bare peak MB, agent peak MB

The peak is that of the resident memory. CPU is user + system of the process and the children it waited for. A ratio is the median of each round's own ratio.
A command that fails ends the measurement with its output and status 1.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time


def run(command: list[str]) -> tuple[float, float, float]:
    """CPU seconds, wall seconds and peak MB of one run."""
    with tempfile.TemporaryFile() as output:
        start = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            sys.stderr.write(output.read().decode(errors="replace"))
            sys.exit(f"measure.py: exit status {process.returncode}: {' '.join(command)}")
        return usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def parse(rounds: int, usage: str) -> tuple[int, list[str], list[str]]:
    """The number of rounds, `rounds` unless the command line says another, and both commands."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["--rounds"]:
        rounds = int(arguments[1])
        arguments = arguments[2:]
    if "::" not in arguments or rounds < 1:
        sys.exit(usage)
    split = arguments.index("::")
    return rounds, arguments[:split], arguments[split + 1 :]


def main() -> None:
    rounds, bare, agent = parse(5, __doc__)
    run(bare)
    run(agent)
    pairs = []
    for number in range(rounds):
        if number % 2 == 0:
            first, second = run(bare), run(agent)
        else:
            second, first = run(agent), run(bare)
        pairs.append((first, second))
    fields = []
    for kind in (0, 1):
        fields.append(statistics.median(b[kind] for b, _ in pairs))
        fields.append(statistics.median(a[kind] for _, a in pairs))
        fields.append(statistics.median(a[kind] / b[kind] for b, a in pairs))
    fields += [statistics.median(b[2] for b, _ in pairs), statistics.median(a[2] for _, a in pairs)]
    print("\t".join(f"{field:.4f}" for field in fields))


if __name__ == "__main__":
    main()
