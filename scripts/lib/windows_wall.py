"""Checks the wall-clock samples of java-tests/wall/Waits.java: python3 windows_wall.py PROFILE.txt OUTPUT [LEFT OUT]

PROFILE.txt was written with `thread=y,cutoff=0`, OUTPUT is what the program printed of its own measurements, and LEFT OUT the thread that was not
started. Each thread must have spent nearly all of its time in its method, in the state that the program's first comment states. Prints what is
wrong, and exits 1.
"""

import collections
import re
import sys

STATES = {
    "sleeps": {"sleeping"},
    "parks": {"parked"},
    "waits": {"waiting"},
    "blocks": {"blocked"},
    **dict.fromkeys(("locks", "takes", "acquires", "joins", "writes", "awaits"), {"parked"}),
    **dict.fromkeys(("selects", "reads", "pipes"), {"native"}),
    "spins": {"running", "runnable"},
    "turns": {"sleeping"},
}
TRACE = re.compile(r"TRACE (\d+): \(thread=(\d+)\)$")
THREAD = re.compile(r'THREAD START \(obj=\w+, id = (\d+), name="(.*)", group=')
ROW = re.compile(r"\s*\d+\s+[\d.]+%\s+[\d.]+%\s+(\d+)\s+(\d+) \S")


def main() -> None:
    profile, output, *left_out = sys.argv[1:]
    names: dict[str, str] = {}
    traces: dict[str, tuple[str, list[str]]] = {}
    samples: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    stack, in_section = [], False
    with open(profile, encoding="utf-8") as lines:
        for line in lines:
            if match := THREAD.match(line):
                names[match[1]] = match[2]
            elif match := TRACE.match(line):
                stack = []
                traces[match[1]] = names.get(match[2], ""), stack
            elif line.startswith("\t"):
                stack.append(line.strip().split("(")[0])
            elif line.startswith("WALL SAMPLES"):
                in_section = " BEGIN " in line
            elif in_section and (match := ROW.match(line)):
                thread, frames = traces[match[2]]
                state = re.sub(r"java\.lang\.Thread\.<(\w+)>", r"\1", frames[0])
                method = next((frame for frame in frames if frame.startswith("Waits.")), "").removeprefix("Waits.")
                samples[thread][method, state] += int(match[1])
    said = dict(line.split() for line in open(output, encoding="utf-8") if re.match(r"(cpu|two) [\d.]+$", line))
    failures = []
    for thread, states in STATES.items():
        if thread in left_out:
            continue
        of = samples[thread]
        there = sum(
            count
            for (method, state), count in of.items()
            if (method == thread or thread == "turns" and method in ("one", "two")) and state in states
        )
        if of.total() < 25 or there < 0.8 * of.total():
            failures.append(f"{thread}: {there} of {of.total()} samples are there: {dict(of)}")

    def share(name: str, found: float, most: float) -> None:
        if abs(found - float(said[name])) > most:
            failures.append(f"{name}: {found:.3f} of the samples, {said[name]} of the time")

    spins = samples["spins"]
    share("cpu", spins["spins", "running"] / max(1, spins["spins", "running"] + spins["spins", "runnable"]), 0.15)
    turns = samples["turns"]
    share("two", turns["two", "sleeping"] / max(1, turns["one", "sleeping"] + turns["two", "sleeping"]), 0.25)
    if failures:
        sys.exit("\n".join(failures))
    print(f"Waits: {len(STATES) - len(left_out)} threads are where they are")


if __name__ == "__main__":
    main()
