#!/usr/bin/env python3
"""Takes memory away while the handler of CPU samples reads it, so many times, on each JVM.

    stress_faults.py --agent FILE --classes DIR --library FILE --folder DIR --times N --jvm FEATURE=HOME ...

Runs java-tests/samples/TakenAway.java with the agent's handler of faults in front, and behind one that was installed later. Prints
a row for each: how often memory was taken away, how many faults the other handler has seen, and how the run ended. Exits 1 if one did
not end well; its output stays in --folder.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

# One takes some 20 ms of CPU time.
SECONDS_FOR_ONE = 1


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agent", type=pathlib.Path, required=True)
    parser.add_argument("--classes", type=pathlib.Path, required=True)
    parser.add_argument("--library", type=pathlib.Path, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--times", type=int, required=True)
    parser.add_argument("--jvm", action="append", required=True, help="FEATURE=HOME")
    return parser.parse_args()


def run(options, home, place, folder):
    """How often memory was taken away, the faults, and what went wrong, if anything did."""
    folder.mkdir(parents=True)
    library = options.library.resolve()
    command = [
        f"{home}/bin/java",
        "-Xint",
        "-XX:+UseSerialGC",
        f"-agentpath:{options.agent.resolve()}=cpu=samples,engine=async,interval=1,depth=16,file=profile",
        "-cp",
        options.classes.resolve(),
        "TakenAway",
        library,
        str(options.times),
        place,
    ]
    environment = os.environ | {"LD_PRELOAD": str(library)}
    with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
        try:
            timeout = 300 + SECONDS_FOR_ONE * options.times
            done = subprocess.run(command, cwd=folder, env=environment, stdout=out, stderr=err, timeout=timeout)
            status = done.returncode
        except subprocess.TimeoutExpired:
            status = "no end"
    text = (folder / "out").read_text()
    said = re.search(r"taken (\d+)\nfaults (\d+)", text)
    taken, faults = (int(number) for number in said.groups()) if said else (0, 0)
    fault = None
    if status != 0 or taken < options.times:
        fault = f"status {status}: {text.strip()[-400:]}"
    elif "CPU SAMPLES END" not in (folder / "profile").read_text():
        fault = "the profile is not whole"
    return taken, faults, fault


def main():
    options = arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    failed = 0
    print("| JVM | handler of faults | taken away | faults that another handler saw | |", "|---|---|---|---|---|", sep="\n", flush=True)
    for jvm in options.jvm:
        feature, home = jvm.split("=", 1)
        for place in ["front", "behind"]:
            folder = options.folder / f"{feature}-{place}"
            taken, faults, fault = run(options, home, place, folder)
            seen = faults if place == "behind" else "-"
            print(f"| {feature} | {place} | {taken} | {seen} | {fault or ''} |", flush=True)
            failed += fault is not None
            if fault is None:
                shutil.rmtree(folder)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
