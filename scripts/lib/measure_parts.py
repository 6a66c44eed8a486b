#!/usr/bin/env python3
"""Measures what each part of tracking an allocation takes.

    measure_parts.py [--rounds N] --agent LIBRARY --floor LIBRARY --output FILE JAVA ARGUMENT...

Runs the program, in turn, bare, with the VM's event alone (LIBRARY of benches/parts/floor.c), with weak references to all
objects besides, and with the agent without stacks, with stacks, and with stacks that the VM is asked for. FILE is where the
agent writes. Prints, tab-separated, M allocations and then ns of CPU time an allocation, medians over the rounds:

    event, reference, site, sweep: what a run has more than the one before it, and the time of the agent's sweeper thread;
    own: the sum of the last three;
    stack, and stack that the VM is asked for: what a run has more than the one without stacks.

The compilers' threads do not count: what they do differs more from run to run than the parts take.
"""

import argparse
import collections
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

# Seconds between two looks at the threads: what a thread uses after the last one is not known apart.
LOOK = 0.02
COMPILERS = ("C1 ", "C2 ")
SWEEPERS = ("HPROF sweeper", "floor sweeper")


class Threads:
    """The CPU time of a process's threads, by name, as far as it was seen."""

    def __init__(self, pid: int) -> None:
        self.folder = pathlib.Path(f"/proc/{pid}/task")
        self.seen: dict[str, tuple[str, int]] = {}

    def look(self) -> None:
        for thread in self.threads():
            try:
                name = (thread / "comm").read_text().strip()
                used = int((thread / "schedstat").read_text().split()[0])
            except (OSError, IndexError):
                continue
            self.seen[thread.name] = name, used

    def threads(self) -> list[pathlib.Path]:
        try:
            return list(self.folder.iterdir())
        except OSError:
            return []

    def seconds(self, names: tuple[str, ...]) -> float:
        return sum(used for name, used in self.seen.values() if name.startswith(names)) / 1e9


def run(command: list[str]) -> tuple[float, float]:
    """CPU seconds of one run: those of the program and the VM without compilers and sweeper, and those of the sweeper."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT)
        threads = Threads(process.pid)
        while True:
            threads.look()
            pid, status, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                break
            time.sleep(LOOK)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            output.seek(0)
            sys.stderr.write(output.read().decode(errors="replace"))
            sys.exit(f"measure_parts.py: exit status {process.returncode}: {' '.join(command)}")
    sweeper = threads.seconds(SWEEPERS)
    return usage.ru_utime + usage.ru_stime - threads.seconds(COMPILERS) - sweeper, sweeper


def allocations(output: pathlib.Path) -> int:
    """The objects of all rows of a table of sites."""
    rows = re.findall(r"^ *\d+ +[\d.]+% +[\d.]+% +\d+ +\d+ +\d+ +(\d+) ", output.read_text(errors="replace"), re.MULTILINE)
    return sum(map(int, rows))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--floor", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("java")
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    options = parser.parse_args()
    sites = f"-agentpath:{options.agent}=heap=sites,cutoff=0,file={options.output}"
    ways = {
        "bare": [],
        "event": [f"-agentpath:{options.floor}"],
        "references": [f"-agentpath:{options.floor}=references"],
        "no stacks": [f"{sites},depth=0"],
        "stacks": [sites],
        "asked": [f"{sites},stacks=jvmti"],
    }
    run([options.java, *options.arguments])
    rounds: dict[str, list[float]] = collections.defaultdict(list)
    for number in range(options.rounds):
        used = {}
        order = list(ways)
        for way in order if number % 2 == 0 else reversed(order):
            used[way] = run([options.java, *ways[way], *options.arguments])
            if way == "stacks":
                made = allocations(options.output)

        def more(way: str, than: str) -> float:
            return used[way][0] - used[than][0]

        parts = {
            "event": more("event", "bare"),
            "reference": more("references", "event"),
            "site": more("no stacks", "references"),
            "sweep": used["stacks"][1],
        }
        parts["own"] = parts["reference"] + parts["site"] + parts["sweep"]
        parts["stack"] = more("stacks", "no stacks")
        parts["asked"] = more("asked", "no stacks")
        rounds["M allocations"].append(made / 1e6)
        for part, seconds in parts.items():
            rounds[part].append(seconds * 1e9 / made)
    medians = [statistics.median(figures) for figures in rounds.values()]
    print("\t".join(f"{figure:.2f}" if index == 0 else f"{figure:.0f}" for index, figure in enumerate(medians)))


if __name__ == "__main__":
    main()
