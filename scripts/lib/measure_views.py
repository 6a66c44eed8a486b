#!/usr/bin/env python3
"""Measures how fast profiles are shown, added up and converted, from files that the system has in memory.

    measure_views.py --rounds N --cli HPROF --folder DIRECTORY

Makes a binary profile of 10 M CPU samples in 1 M stacks of 16 to 31 frames, and 1,000 files of 1 MB with the same stacks in
other orders and under other numbers. Prints, tab-separated: the large file's MB, seconds and peak MB of `hprof top`, the MB/s
that `hprof export --to pprof` reads, seconds and peak MB of `hprof merge` of all small files, whose sum is compared, seconds
of `hprof report` of the large file, and seconds until Chromium shows that page.
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


def run(command: list) -> tuple[float, float]:
    """Seconds and peak MB."""
    start = time.monotonic()
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command[:3]} failed")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def total(cli: str, file: pathlib.Path) -> int:
    output = subprocess.run([cli, "top", "--json", str(file)], check=True, capture_output=True)
    return json.loads(output.stdout)["total"]


def medians(rounds: int, command: list) -> tuple[float, float]:
    times = [run(command) for _ in range(rounds)]
    return statistics.median(seconds for seconds, _ in times), statistics.median(peak for _, peak in times)


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
    options = parser.parse_args()
    rounds = int(options.rounds)
    folder = pathlib.Path(options.folder) / "views"
    folder.mkdir()
    large = folder / "large.hprof"
    write(large, stacks(STACKS), [SAMPLES // STACKS] * STACKS, 300_001, 500_000)
    if total(options.cli, large) != SAMPLES:
        raise SystemExit("hprof top: a wrong total")
    megabytes = large.stat().st_size / 1e6
    top_seconds, top_peak = medians(rounds, [options.cli, "top", large])
    pprof_seconds, _ = medians(rounds, [options.cli, "export", "--to", "pprof", "-o", folder / "x.pb.gz", large])
    page = folder / "report.html"
    report_seconds, _ = medians(rounds, [options.cli, "report", "-o", page, large])
    open_seconds = opening(page, rounds)
    page.unlink()
    large.unlink()
    numbers = random.Random(2)
    few = list(stacks(SMALL_STACKS))
    files = []
    # A few different files under many names: what is measured is reading and adding up.
    for number in range(10):
        numbers.shuffle(few)
        files.append(folder / f"{number}.hprof")
        write(files[-1], few, [number + 1] * SMALL_STACKS, 300_001 + number, 500_000 + 7 * number)
    inputs = [files[number % len(files)] for number in range(SMALL_FILES)]
    merged = folder / "sum.hprof"
    merge_seconds, merge_peak = medians(rounds, [options.cli, "merge", "-o", merged, *inputs])
    expected = SMALL_FILES // len(files) * SMALL_STACKS * sum(range(1, len(files) + 1))
    if total(options.cli, merged) != expected:
        raise SystemExit("hprof merge: a wrong sum")
    shutil.rmtree(folder)
    figures = [megabytes, top_seconds, top_peak, megabytes / pprof_seconds, merge_seconds, merge_peak, report_seconds]
    print("\t".join([*(f"{figure:.4g}" for figure in figures), open_seconds]))


if __name__ == "__main__":
    main()
