#!/usr/bin/env python3
"""Checks that each line of a text profile follows the lines that it names: check_order.py FILE prints those that do not, and exits 1.

Threads are named by traces (thread=y), WAIT and WAITED lines, monitor dumps and THREAD END; traces by the rows of every
section. 200000 is the thread that was never announced.
"""

import re
import sys

UNKNOWN_THREAD = 200000
THREADS = re.compile(r"\bthread[ =](\d+)|^\s+THREAD (\d+)|^THREAD END \(id = (\d+)\)")
STARTED = re.compile(r"^THREAD START \(obj=\w+, id = (\d+), ")
TRACE = re.compile(r"^TRACE (\d+):")
STATE = re.compile(r"^    THREAD \d+, trace (\d+), ")
SECTION = re.compile(r"^(SITES|CPU SAMPLES|CPU TIME \(ms\)|MONITOR TIME|MONITOR DUMP) (BEGIN|END)")
ROW = re.compile(r"^ *\d+ +[\d.]+% +[\d.]+% ")
# How many columns stand between the accumulated share and the trace.
COLUMNS = {"SITES": 4, "CPU SAMPLES": 1, "CPU TIME (ms)": 1, "MONITOR TIME": 1}


def faults(lines):
    threads, traces, section = {UNKNOWN_THREAD}, set(), None
    for number, line in enumerate(lines, 1):
        if started := STARTED.match(line):
            thread = int(started[1])
            if thread in threads:
                yield f"{number}: THREAD {thread} starts twice"
            threads.add(thread)
            continue
        if marker := SECTION.match(line):
            opened = marker[1] if marker[2] == "BEGIN" else None
            if (opened is None) == (section is None):
                yield f"{number}: {line.strip()} within {section}"
            section = opened
            continue
        for named in THREADS.finditer(line):
            thread = int(named[1] or named[2] or named[3])
            if thread not in threads:
                yield f"{number}: THREAD {thread} has not started: {line.strip()}"
        named = None
        if trace := TRACE.match(line):
            traces.add(int(trace[1]))
        elif state := STATE.match(line):
            named = int(state[1])
        elif section in COLUMNS and ROW.match(line):
            named = int(line.split()[3 + COLUMNS[section]])
        if named is not None and named not in traces:
            yield f"{number}: TRACE {named} does not stand before: {line.strip()}"
    if section:
        yield f"the end: {section} is not closed"


def main():
    with open(sys.argv[1], encoding="utf-8", errors="replace") as file:
        lines = file.read().split("\n")
    dashes = lines.index("--------") if "--------" in lines else 0
    found = list(faults([""] * dashes + lines[dashes:]))
    for fault in found[:20]:
        print(fault)
    sys.exit(bool(found) or len(lines) < 10)


if __name__ == "__main__":
    main()
