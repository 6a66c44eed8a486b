#!/usr/bin/env python3
"""Suspends threads of a program at random moments, in every mode on each JVM.

    stress_suspend.py --agent FILE --classes DIR --library FILE --folder DIR --rounds N --jvm FEATURE=HOME ...

Runs java-tests/suspend/Suspended.java, and prints a row for each JVM and mode: the rounds, how many of them suspended a thread, and
how the run ended. Exits 1 if one did not end well; its output stays in --folder.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

MODES = [
    "heap=sites",
    "heap=all,thread=y,format=b",
    "cpu=samples,interval=1",
    "cpu=samples,engine=jvmti,interval=1",
    "cpu=times",
    "wall=10ms",
    "monitor=y,thread=y",
]
# A round has a minute in the program itself.
SECONDS_FOR_A_ROUND = 2


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", type=pathlib.Path, required=True)
    parser.add_argument("--classes", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--jvm", action="append", required=True, help="FEATURE=HOME")
    return parser.parse_args()


def run(options, home, mode, folder):
    """The rounds, those that suspended a thread, and the fault, if there was one."""
    folder.mkdir(parents=True)
    command = [
        f"{home}/bin/java",
        f"-agentpath:{options.agent.resolve()}={mode},file=profile",
        "-cp",
        options.classes.resolve(),
        "Suspended",
        options.library.resolve(),
        str(options.rounds),
        "7",
    ]
    with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
        try:
            timeout = 300 + SECONDS_FOR_A_ROUND * options.rounds
            status = subprocess.run(command, cwd=folder, stdout=out, stderr=err, timeout=timeout).returncode
        except subprocess.TimeoutExpired:
            status = "no end"
    said = re.search(r"rounds (\d+)\nsuspended (\d+)", (folder / "out").read_text())
    rounds, suspended = (int(number) for number in said.groups()) if said else (0, 0)
    fault = None
    if status != 0 or rounds != options.rounds:
        fault = f"status {status}: {(folder / 'out').read_text().strip()}"
    elif "a fault of the agent" in (folder / "err").read_text():
        fault = "a fault of the agent"
    return rounds, suspended, fault


def main():
    options = arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    faults = 0
    print(f"{'JVM':>4} {'mode':<36} {'rounds':>7} {'suspended':>9}")
    for jvm in options.jvm:
        feature, home = jvm.split("=", 1)
        for number, mode in enumerate(MODES):
            folder = options.folder / f"{feature}-{number}"
            rounds, suspended, fault = run(options, home, mode, folder)
            print(f"{feature:>4} {mode:<36} {rounds:>7} {suspended:>9} {fault or ''}", flush=True)
            faults += fault is not None
            if fault is None:
                shutil.rmtree(folder)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
