#!/usr/bin/env python3
"""Profiles one running program again and again, and looks whether it grows.

    scripts/lib/soak.py --seconds N --round SECONDS --hprof COMMAND --agent LIBRARY [--warm-up N] [--bare] JAVA...

Starts JAVA... and waits until it has printed `ready`. Each round attaches another mode, dumps in the middle and stops at
the end; then resident memory, what the agent holds (`hprof status`), threads and descriptors of the process are printed.
With --bare nobody attaches. The verdict is of the rounds after the warm-up, the first third of them unless --warm-up says
how many: what grows on and on, by more than the noise of the rounds, is not flat. Status 1 where something is not.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

MODES = [
    "heap=sites",
    "cpu=samples",
    "cpu=times,include=Requests*:com.google.javascript.*",
    "cpu=times,clock=samples,include=Requests*:com.google.javascript.*",
    "monitor=y",
    "heap=dump,format=b",
    "heap=sites,sample=512k",
]

# The growth that is allowed from the first third of the rounds to the last, in the unit of the figure, and its name.
FIGURES = [
    ("resident MB", 8.0),
    ("agent KB", 64.0),
    ("threads", 2.0),
    ("descriptors", 1.0),
]


def hprof(arguments: argparse.Namespace, verb: str, process: subprocess.Popen, *rest: str) -> str:
    command = [arguments.hprof, verb, str(process.pid), *rest]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        process.kill()
        sys.exit(f"soak: {' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def measure(arguments: argparse.Namespace, process: subprocess.Popen) -> list[float]:
    with open(f"/proc/{process.pid}/smaps_rollup") as smaps:
        resident = int(re.search(r"^Rss: +(\d+)", smaps.read(), re.M).group(1)) / 1024
    held = 0.0
    if not arguments.bare:
        answer = hprof(arguments, "status", process)
        found = re.search(r"the agent holds (\d+) bytes", answer)
        held = int(found.group(1)) / 1024 if found else 0.0
    threads = len(os.listdir(f"/proc/{process.pid}/task"))
    descriptors = len(os.listdir(f"/proc/{process.pid}/fd"))
    return [resident, held, threads, descriptors]


def one_round(arguments: argparse.Namespace, process: subprocess.Popen, mode: str, folder: str) -> None:
    if arguments.bare:
        time.sleep(arguments.round)
        return
    output = os.path.join(folder, "soak.out")
    options = f"{mode},verbose=n,file={output}"
    hprof(arguments, "attach", process, options, "--agent", arguments.agent)
    time.sleep(arguments.round / 2)
    hprof(arguments, "dump", process)
    time.sleep(arguments.round / 2)
    hprof(arguments, "stop", process)
    os.remove(output)


def slope(values: list[float]) -> float:
    """Growth a round: the median of the slopes of all pairs, which single peaks do not move."""
    pairs = [(b - a) / (j - i) for i, a in enumerate(values) for j, b in enumerate(values) if j > i]
    return statistics.median(pairs)


def verdict(rounds: list[list[float]]) -> bool:
    """Prints what each figure did; whether all are flat."""
    is_flat = True
    for number, (name, allowed) in enumerate(FIGURES):
        values = [figures[number] for figures in rounds]
        growth = slope(values)
        total = growth * (len(values) - 1)
        flat = total <= allowed
        is_flat = is_flat and flat
        word = "flat" if flat else "NOT FLAT"
        print(f"{name}: {values[0]:.1f} to {values[-1]:.1f}, {growth:+.2f} a round, {total:+.1f} in all: {word}")
    return is_flat


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--round", type=float, default=60.0)
    parser.add_argument("--warm-up", type=int)
    parser.add_argument("--modes", default=" ".join(MODES))
    parser.add_argument("--hprof", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("java", nargs=argparse.REMAINDER)
    arguments = parser.parse_args()
    modes = arguments.modes.split()
    with tempfile.TemporaryDirectory() as folder, open(os.path.join(folder, "said"), "w+") as said:
        process = subprocess.Popen(arguments.java, stdin=subprocess.DEVNULL, stdout=said, stderr=subprocess.STDOUT)
        try:
            soak(arguments, process, modes, folder)
        finally:
            process.kill()
            process.wait()


def soak(arguments: argparse.Namespace, process: subprocess.Popen, modes: list[str], folder: str) -> None:
    said = os.path.join(folder, "said")
    while "ready" not in open(said, errors="replace").read():
        if process.poll() is not None:
            sys.exit(f"soak: the program ended: {open(said, errors='replace').read()}")
        time.sleep(0.1)
    end = time.monotonic() + arguments.seconds
    rounds: list[list[float]] = []
    print("round  mode                    " + "  ".join(f"{name:>11}" for name, _ in FIGURES))
    while time.monotonic() < end:
        mode = "-" if arguments.bare else modes[len(rounds) % len(modes)]
        one_round(arguments, process, mode, folder)
        if process.poll() is not None:
            sys.exit(f"soak: the program ended with {process.returncode}: {open(said, errors='replace').read()}")
        figures = measure(arguments, process)
        rounds.append(figures)
        print(f"{len(rounds):>5}  {mode[:22]:<22}  " + "  ".join(f"{figure:>11.1f}" for figure in figures), flush=True)
    warm_up = len(rounds) // 3 if arguments.warm_up is None else arguments.warm_up
    judged = rounds[warm_up:]
    if len(judged) < 2:
        sys.exit("soak: too few rounds for a verdict")
    if not verdict(judged):
        sys.exit(1)


if __name__ == "__main__":
    main()
