#!/usr/bin/env python3
"""Compares CPU samples with what the programs of java-tests/samples say of themselves: windows_samples.py PROGRAM OUTPUT PROFILE...

PROGRAM is Spin, Inlined, Paths or Churn. OUTPUT is what its last run has printed, with the agent's line about its samples (verbose=y). Shares are
those of all runs together.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.dont_write_bytecode = True

from known_stacks import compare  # noqa: E402

# How far a share may be from the truth.
MOST_OFF = 0.05
# Of the samples, those whose stacks cannot be, and those without a stack.
MOST_WRONG = 0.002
MOST_WITHOUT = 0.1


def samples_of(profiles, program):
    """The samples of each method: of the innermost one of the program, or of the innermost of all where there is none of it."""
    samples = {}
    for profile in profiles:
        add_samples(samples, profile, re.compile(rf"\t({program}\.\w+)\("))
    return samples


def add_samples(samples, profile, own):
    methods = {}
    for number, frames in re.findall(r"^TRACE (\d+):.*\n((?:\t.*\n)*)", profile, re.M):
        found = own.search(frames) or re.match(r"\t([^(\n]+)", frames)
        methods[number] = found[1] if found else "nothing"
    for count, trace in re.findall(r"^ +\d+ +[\d.]+% +[\d.]+% +(\d+) (\d+) \S+$", profile, re.M):
        samples[methods[trace]] = samples.get(methods[trace], 0) + int(count)


def compare_shares(samples, truth):
    """What is wrong with the shares that some methods have of what they have together."""
    both = sum(samples.get(method, 0) for method in truth)
    for method, expected in truth.items():
        share = samples.get(method, 0) / max(both, 1)
        print(f"{method}: {share:.3f}, expected {expected:.3f}, of {both} samples")
        if abs(share - expected) > MOST_OFF:
            return f"{method} has {share:.3f} of the samples, not {expected:.3f}"
    return None


def spin(profiles, _output):
    samples = samples_of(profiles, "Spin")
    total = sum(samples.values())
    own = sum(count for method, count in samples.items() if method.startswith("Spin."))
    accept = sum(count for method, count in samples.items() if "accept" in method.lower())
    if own < 0.85 * total or accept > 0.02 * total:
        return f"of {total} samples {own} are Spin's and {accept} of who waits"
    return compare_shares(samples, {"Spin.hot": 0.75, "Spin.warm": 0.25})


def inlined(profiles, output):
    truth = {method: int(part) for method, part in re.findall(r"^truth (\S+) (\d+)\r?$", output, re.M)}
    whole = sum(truth.values())
    return compare_shares(samples_of(profiles, "Inlined"), {method: part / whole for method, part in truth.items()})


def paths(profiles, _output):
    source = (ROOT / "java-tests/samples/Paths.java").read_text(encoding="utf-8")
    known, wrong = compare(profiles[-1], source, False)
    count = sum(samples for _, samples, _ in wrong)
    print(f"{known} samples in known stacks, {count} in stacks that cannot be")
    if known < 100:
        return f"only {known} samples are in known stacks"
    if count > MOST_WRONG * known:
        return f"{count} of {known} samples have stacks that cannot be, as {wrong[0]}"
    return None


def churn(_profiles, output):
    found = re.search(r"engine=async; (\d+) samples, (\d+) ", output)
    if not found:
        return "no line says how many samples there were"
    samples, without = map(int, found.groups())
    print(f"{samples} samples, {without} without a stack")
    if without > MOST_WITHOUT * samples:
        return f"{without} of {samples} samples have no stack"
    return None


def main():
    program, output, *profiles = sys.argv[1:]
    check = {"Spin": spin, "Inlined": inlined, "Paths": paths, "Churn": churn}[program]
    read = lambda path: pathlib.Path(path).read_text(encoding="utf-8", errors="replace")  # noqa: E731
    sys.exit(check([read(profile) for profile in profiles], read(output)))


main()
