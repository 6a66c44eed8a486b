#!/usr/bin/env python3
"""The runs of scripts/leaks, whose help says what they are."""

import argparse
import json
import os
import subprocess
import sys

OPTIONS = "heap=all,format=b,lifetimes=y,depth=8,verbose=n,file="
# What runs in each program, and the objects a second that die in it.
PROGRAMS = [
    (1_000_000, ["slow", "cache=100000"]),
    (100_000, ["sessions", "listeners", "threads", "backlog", "lru", "weak", "pool", "reload"]),
]
# The classes of what leaks, and of what does not.
LEAKS = {
    "slow": "Leaks$Slow",
    "sessions": "Leaks$Session",
    "listeners": "Leaks$Listener",
    "threads": "Leaks$Entry",
    "backlog": "Leaks$Task",
}
OTHERS = {
    "cache": "Leaks$Cached",
    "lru": "Leaks$Used",
    "weak": "Leaks$Described",
    "pool": "Leaks$Connection",
    "reload": "Leaks$Setting",
}
# A dump does not have the tasks that were taken from the queue.
UNKNOWN_TO_DUMPS = {"backlog"}


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    for name in ("folder", "hprof", "agent", "java"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--minutes", type=int, required=True)
    return parser.parse_args()


def start(options: argparse.Namespace, number: int, garbage: int, parts: list[str]) -> subprocess.Popen:
    profile = os.path.join(options.folder, f"{number}.hprof")
    command = [options.java, "-Xmx256m", f"-agentpath:{options.agent}={OPTIONS}{profile}", "-cp", options.folder, "Leaks"]
    ticks = str(60 * options.minutes)
    return subprocess.Popen([*command, "1000", ticks, str(garbage), "0", *parts], stdout=subprocess.DEVNULL)


def ask(options: argparse.Namespace, number: int, *command: str) -> dict:
    profile = os.path.join(options.folder, f"{number}.hprof")
    done = subprocess.run([options.hprof, *command, "--json", profile], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"leaks: hprof {' '.join(command)}: {done.stderr}")
    return json.loads(done.stdout)


def part_of(suspect: dict) -> str:
    """The part of the program that holds a suspect."""
    holder = suspect["holder"]
    if '"worker ' in holder:
        return "threads"
    return holder.removeprefix("static field Leaks.")


def place(found: list[str], wanted: str) -> str:
    return f"{found.index(wanted) + 1} of {len(found)}" if wanted in found else "-"


def judge(options: argparse.Namespace, number: int, parts: list[str]) -> bool:
    """Prints what is suspected; returns True if that is right."""
    growing = [row["class"] for row in ask(options, number, "growth")["rows"]]
    suspects = ask(options, number, "heap", "leaks")["suspects"]
    piling = [part_of(suspect) for suspect in suspects if suspect.get("piling")]
    is_right = True
    for part in (argument.split("=")[0] for argument in parts):
        in_growth = place(growing, {**LEAKS, **OTHERS}[part])
        in_dump = place(piling, part)
        told = [in_growth != "-"] if part in UNKNOWN_TO_DUMPS else [in_growth != "-", in_dump != "-"]
        right = all(told) if part in LEAKS else not any(told)
        if part == "slow":
            right = in_growth.startswith("1 ") and in_dump.startswith("1 ")
        kind = "leak" if part in LEAKS else "none"
        print(f"{part:10} {kind:5} {in_growth:>10} {in_dump:>10}  {'right' if right else 'WRONG'}")
        is_right = is_right and right
    print(f"{'':10} growth: {', '.join(growing)}; piling up in the dump: {', '.join(piling)}")
    return is_right


def main() -> None:
    options = arguments()
    running = [start(options, number, *program) for number, program in enumerate(PROGRAMS)]
    codes = [program.wait() for program in running]
    if any(codes):
        sys.exit(f"leaks: the programs ended with {codes}")
    print(f"{'part':10} {'is a':5} {'growth':>10} {'heap leaks':>10}")
    right = [judge(options, number, parts) for number, (_, parts) in enumerate(PROGRAMS)]
    sys.exit(0 if all(right) else 1)


main()
