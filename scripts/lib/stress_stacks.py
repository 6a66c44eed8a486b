#!/usr/bin/env python3
"""The part of scripts/stress that --stacks runs, as its help describes it."""

import argparse
import pathlib
import re
import subprocess
import sys

UNLOCK = "-XX:+UnlockExperimentalVMOptions"
WAYS = {
    "default": [],
    "interpreter": ["-Xint"],
    "C1": ["-XX:TieredStopAtLevel=1"],
    "C2": ["-XX:-TieredCompilation"],
    "no inlining": ["-XX:-Inline"],
    "code cache of 5 MB": ["-XX:ReservedCodeCacheSize=5m"],
    "frame pointers": ["-XX:+PreserveFramePointer"],
    "no JVMCI": [UNLOCK, "-XX:-EnableJVMCI"],
    "ZGC": [UNLOCK, "-XX:+UseZGC"],
    "Shenandoah": [UNLOCK, "-XX:+UseShenandoahGC"],
    "Serial": ["-XX:+UseSerialGC"],
    "checked JNI": ["-Xcheck:jni"],
}
LINE = re.compile(r"hprof: stacks: (\d+) known again, \d+ of them new ones of known frames, (\d+) asked of the VM, (\d+) checked, (\d+) differed")
# JDK 21 stops the world for each stack that it is asked for in a virtual thread.
TIMEOUT = 300


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--life", type=int, required=True)
    parser.add_argument("--stacks", type=int, required=True)
    parser.add_argument("--jvm", action="append", required=True, metavar="FEATURE=HOME")
    return parser.parse_args()


class Fault(Exception):
    pass


class Cell:
    """A program on a JVM that makes code in one way."""

    def __init__(self, options, feature, home, way, program):
        self.options, self.feature, self.home, self.way, self.program = options, feature, home, way, program
        self.known = self.asked = self.differed = self.runs = 0

    def is_possible(self):
        java = [f"{self.home}/bin/java", *WAYS[self.way], "-version"]
        return subprocess.run(java, capture_output=True).returncode == 0

    def run(self):
        threads = ["2"] if self.program == "Stacks" else []
        command = [
            f"{self.home}/bin/java", *WAYS[self.way], "-Xmx256m",
            f"-agentpath:{self.options.agent}=heap=sites,stacks=verify,file={self.options.folder / 'stacks.txt'}",
            "-cp", self.options.classes, self.program, str(self.options.life), *threads,
        ]
        run = subprocess.run(command, capture_output=True, text=True, cwd=self.options.folder, timeout=TIMEOUT)
        line = LINE.search(run.stderr)
        if run.returncode != 0 or not run.stdout.endswith("ended\n") or not line:
            raise Fault(f"exit {run.returncode}: {run.stdout[-300:]!r} {run.stderr[-1000:]!r}")
        known, asked, _, differed = map(int, line.groups())
        self.known += known
        self.asked += asked
        self.differed += differed
        self.runs += 1


def stress(options, feature, home):
    """Runs all there is on one JVM, again and again, until as many stacks were compared as are wanted."""
    programs = ["Stacks"] + (["StacksVirtual21"] if int(feature) >= 21 else [])
    cells = [Cell(options, feature, home, way, program) for way in WAYS for program in programs]
    cells = [cell for cell in cells if cell.is_possible()]
    faults = 0
    while sum(cell.known for cell in cells) < options.stacks:
        for cell in cells:
            try:
                cell.run()
            except (Fault, subprocess.TimeoutExpired) as fault:
                print(f"JDK {feature}, {cell.program}, {cell.way}: {fault}", flush=True)
                faults += 1
        if faults > len(cells):
            break
    print(f"\n| JDK {feature} | runs | stacks compared | asked | differed |\n|---|---|---|---|---|")
    for cell in cells:
        print(f"| {cell.program}, {cell.way} | {cell.runs} | {cell.known:,} | {cell.asked:,} | {cell.differed} |")
    known, differed = sum(cell.known for cell in cells), sum(cell.differed for cell in cells)
    print(f"| all | {sum(cell.runs for cell in cells)} | {known:,} | {sum(cell.asked for cell in cells):,} | {differed} |", flush=True)
    return faults == 0 and differed == 0


def main():
    options = arguments()
    options.folder.mkdir(parents=True, exist_ok=True)
    answers = [stress(options, *jvm.split("=", 1)) for jvm in options.jvm]
    sys.exit(0 if all(answers) else 1)


if __name__ == "__main__":
    main()
