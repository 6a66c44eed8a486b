#!/usr/bin/env python3
"""Measures how fast profiles are shown, added up and converted, from files that the system has in memory.

    measure_views.py --rounds N --cli HPROF --folder DIRECTORY [--converter JAR]

Makes a binary profile of 10 M CPU samples in 1 M stacks of 16 to 31 frames, and 1,000 files of 1 MB with the same stacks in
other orders and under other numbers; totals and sums are compared. Prints, tab-separated, for each command: what it is, wall
seconds, CPU seconds, peak MB, and MB/s of input by CPU time. The last row is how long Chromium takes to show the report.
With the jar of async-profiler's converter, it and `hprof` make a flame graph of the same stacks.
Medians of the rounds.
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import struct
import subprocess
import time

METHODS = 5000
STACKS = 1_000_000
SAMPLES = 10_000_000
SMALL_FILES = 1000
SMALL_STACKS = 5000
HEAD = b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, 1_795_171_151_000)


def record(tag: int, body: bytes) -> bytes:
    return struct.pack(">BII", tag, 0, len(body)) + body


def string(number: int, text: str) -> bytes:
    return record(0x01, struct.pack(">Q", number) + text.encode())


def methods(first_frame: int) -> bytes:
    """Classes, methods and frames."""
    parts = [string(1, "()V"), string(2, "Main.java")]
    for number in range(METHODS):
        klass, name = 10 + 2 * number, 11 + 2 * number
        parts.append(string(klass, f"com/example/app{number % 50}/Class{number}"))
        parts.append(string(name, f"method{number}"))
        parts.append(record(0x02, struct.pack(">IQIQ", number + 1, 0x1000 + number, 300_000, klass)))
        frame = struct.pack(">QQQQIi", first_frame + number, name, 1, 2, number + 1, number + 1)
        parts.append(record(0x04, frame))
    return b"".join(parts)


def stacks(count: int):
    """Frame numbers, innermost first; stacks share their outer halves."""
    numbers = random.Random(1)
    outer = [[numbers.randrange(METHODS) for _ in range(8)] for _ in range(1000)]
    for _ in range(count):
        inner = numbers.choices(range(METHODS), k=numbers.randrange(8, 24))
        yield inner + numbers.choice(outer)


def write(path: pathlib.Path, all_stacks: list, counts: list, first_trace: int, first_frame: int) -> None:
    frames = [struct.pack(">Q", first_frame + number) for number in range(METHODS)]
    with path.open("wb") as file:
        file.write(HEAD + methods(first_frame))
        file.write(record(0x05, struct.pack(">III", 300_000, 0, 0)))
        rows = []
        for serial, (stack, count) in enumerate(zip(all_stacks, counts), first_trace):
            head = struct.pack(">BIIIII", 0x05, 0, 12 + 8 * len(stack), serial, 0, len(stack))
            file.write(head + b"".join([frames[frame] for frame in stack]))
            rows.append(struct.pack(">II", count, serial))
        file.write(record(0x0D, struct.pack(">II", sum(counts), len(rows)) + b"".join(rows)))


def run(command: list) -> tuple[float, float, float]:
    """Wall seconds, CPU seconds and peak MB."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[:3]} failed")
    return time.monotonic() - start, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def total(cli: str, file: pathlib.Path) -> int:
    output = subprocess.run([cli, "top", "--json", str(file)], check=True, capture_output=True)
    return json.loads(output.stdout)["total"]


def measure(what: str, rounds: int, megabytes: float, command: list) -> None:
    runs = [run(command) for _ in range(rounds)]
    wall, cpu, peak = (statistics.median(column) for column in zip(*runs))
    print(f"{what}\t{wall:.3g}\t{cpu:.3g}\t{peak:.0f}\t{megabytes / cpu:.0f}", flush=True)


def opening(page: pathlib.Path, rounds: int) -> str:
    """Seconds until Chromium shows a page, or a dash where $HPROF_BROWSER and $HPROF_PLAYWRIGHT name none."""
    if not {"HPROF_BROWSER", "HPROF_PLAYWRIGHT"} <= os.environ.keys():
        return "-"
    driver = pathlib.Path(__file__).parents[2] / "crates/cli/tests/browser/report.mjs"
    command = ["node", driver, "opens", page]
    times = [subprocess.run(command, check=True, capture_output=True, text=True).stdout for _ in range(rounds)]
    return f"{statistics.median(map(float, times)):.4g}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rounds", "cli", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--converter")
    options = parser.parse_args()
    rounds, cli = int(options.rounds), options.cli
    folder = pathlib.Path(options.folder) / "views"
    folder.mkdir()
    large = folder / "large.hprof"
    write(large, stacks(STACKS), [SAMPLES // STACKS] * STACKS, 300_001, 500_000)
    if total(cli, large) != SAMPLES:
        raise SystemExit("hprof top: a wrong total")
    megabytes = large.stat().st_size / 1e6
    measure("`top`", rounds, megabytes, [cli, "top", large])
    for form in ("pprof", "collapsed", "speedscope", "firefox"):
        command = [cli, "export", "--to", form, "-o", folder / form, large]
        measure(f"`export --to {form}`", rounds, megabytes, command)
    page = folder / "page.html"
    measure("`flame -o x.html`", rounds, megabytes, [cli, "flame", "-o", page, large])
    if options.converter:
        stacks_file = folder / "large.collapsed"
        (folder / "collapsed").rename(stacks_file)
        size = stacks_file.stat().st_size / 1e6
        command = ["java", "-jar", options.converter, stacks_file, page]
        measure("async-profiler's converter, collapsed stacks to HTML", rounds, size, command)
    measure("`report`", rounds, megabytes, [cli, "report", "-o", page, large])
    seconds = opening(page, rounds)
    shutil.rmtree(folder)
    folder.mkdir()
    numbers = random.Random(2)
    few = list(stacks(SMALL_STACKS))
    files = []
    # A few different files under many names: what is measured is reading and adding up.
    for number in range(10):
        numbers.shuffle(few)
        files.append(folder / f"{number}.hprof")
        write(files[-1], few, [number + 1] * SMALL_STACKS, 300_001 + number, 500_000 + 7 * number)
    inputs = [files[number % len(files)] for number in range(SMALL_FILES)]
    megabytes = sum(file.stat().st_size for file in inputs) / 1e6
    merged = folder / "sum.hprof"
    measure("`merge` of 1,000 files", rounds, megabytes, [cli, "merge", "-o", merged, *inputs])
    expected = SMALL_FILES // len(files) * SMALL_STACKS * sum(range(1, len(files) + 1))
    if total(cli, merged) != expected:
        raise SystemExit("hprof merge: a wrong sum")
    shutil.rmtree(folder)
    print(f"Chromium shows the report\t{seconds}\t-\t-\t-")


if __name__ == "__main__":
    main()
