#!/usr/bin/env python3
"""Measures how fast many profiles become one: `hprof merge`, and hprof-fleet on DuckDB and on Spark.

    measure_fleet.py --cli HPROF --python PYTHON --folder DIRECTORY [--files N] [--engines ENGINE...]

Makes that many binary profiles with the same 1,000 stacks in DIRECTORY, twenty different ones under many names, adds them
up in each way, and compares the sums of all stacks. Prints, tab-separated: files, MB of each, and the wall seconds of
`hprof merge` and of `hprof-fleet merge --parquet` on each engine. PYTHON has what hprof-fleet needs, and PYTHONPATH the package.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import time

from measure_views import stacks, write

STACKS = 1000
DIFFERENT = 20
SUMS = """
import sys, pyarrow.parquet as pq
rows = pq.read_table(sys.argv[1], columns=["stack", "samples"])
for stack, samples in sorted(zip(*rows.to_pydict().values())):
    print(stack, samples)
"""


def timed(command: list) -> float:
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    return time.monotonic() - start


def lines(command: list) -> list:
    return sorted(subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("cli", "python", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--files", type=int, required=True)
    parser.add_argument("--engines", nargs="*", default=["duckdb", "spark"])
    options = parser.parse_args()
    folder = pathlib.Path(options.folder) / "fleet"
    folder.mkdir()
    some = list(stacks(STACKS))
    for number in range(options.files):
        file = folder / f"{number}.hprof"
        if number < DIFFERENT:
            write(file, some, [number + 1] * STACKS, 300_001 + number, 500_000 + 7 * number)
        else:
            os.link(folder / f"{number % DIFFERENT}.hprof", file)
    files = sorted(folder.glob("*.hprof"))
    megabytes = files[0].stat().st_size / 1e6
    figures = [timed([options.cli, "merge", "-o", folder / "merged", *files])]
    expected = lines([options.cli, "export", "--to", "collapsed", folder / "merged"])
    for engine in options.engines:
        sums = folder / f"{engine}.parquet"
        command = [options.python, "-m", "hprof_fleet", "merge", f"{folder}/*.hprof", "--engine", engine]
        figures.append(timed([*command, "--hprof", options.cli, "--parquet", sums]))
        if lines([options.python, "-c", SUMS, sums]) != expected:
            raise SystemExit(f"{engine} has other sums than hprof merge")
    shutil.rmtree(folder)
    print(options.files, f"{megabytes:.2f}", *(f"{seconds:.2f}" for seconds in figures), sep="\t")


if __name__ == "__main__":
    main()
