#!/usr/bin/env python3
"""Measures how fast a heap dump is checked, printed and redacted, from a file that the system has in memory.

    measure_read.py --rounds N --home JDK --cli HPROF --objects N --classes DIRECTORY

The dump is the VM's own, of a program with so many objects. Prints, tab-separated: its MB, and for `hprof check`, `hprof text` and
`hprof redact` the MB of the dump for each second, and the peak of resident memory in MB; medians of the rounds.
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import tempfile
import time


def dump(options, file: pathlib.Path, objects: str | None = None) -> None:
    command = [f"{options.home}/bin/java", "-Xms3g", "-Xmx3g", "-cp", options.classes, "Big", objects or options.objects]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        program.stdout.readline()
        subprocess.run(
            [f"{options.home}/bin/jcmd", str(program.pid), "GC.heap_dump", str(file)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        program.kill()


def run(command: list[str]) -> tuple[float, float]:
    """Seconds and peak MB."""
    start = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"{command} failed")
    return time.monotonic() - start, usage.ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rounds", "home", "cli", "objects", "classes"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.classes) as folder:
        file = pathlib.Path(folder) / "x.hprof"
        dump(options, file)
        megabytes = file.stat().st_size / 1e6
        subprocess.run(["cat", str(file)], check=True, stdout=subprocess.DEVNULL)
        figures = [megabytes]
        for command in (["check", file], ["text", file], ["redact", file, "-o", "-"]):
            rounds = [run([options.cli, *map(str, command)]) for _ in range(int(options.rounds))]
            figures.append(statistics.median(megabytes / seconds for seconds, _ in rounds))
            figures.append(statistics.median(peak for _, peak in rounds))
    print("\t".join(f"{figure:.4g}" for figure in figures))


if __name__ == "__main__":
    main()
