#!/usr/bin/env python3
"""Measures how fast a heap dump becomes tables, from a file that the system has in memory.

    measure_tables.py --rounds N --home JDK --cli HPROF --objects N --classes DIRECTORY

The dump is the VM's own, of a program with so many objects. Prints, tab-separated: its MB, wall seconds, CPU seconds, MB/s of
input by CPU time, peak MB of resident memory (the mapped file is part of it), the peak without the file, and the tables'
bytes as percents of the input's; medians of the rounds. The program must have written a row for each object.
"""

import argparse
import pathlib
import re
import shutil
import statistics
import subprocess
import tempfile

from measure_read import dump
from measure_views import run


def size(folder: pathlib.Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rounds", "home", "cli", "objects", "classes"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.classes) as folder:
        file, tables = pathlib.Path(folder) / "x.hprof", pathlib.Path(folder) / "tables"
        dump(options, file)
        export = [options.cli, "export", "--to", "parquet", "-o", tables, file]
        said = subprocess.run(export, check=True, capture_output=True, text=True).stdout
        objects = int(re.search(r" object (\d+)", said)[1])
        if objects < int(options.objects):
            raise SystemExit(f"{objects} objects in the tables, too few")
        share = 100 * size(tables) / file.stat().st_size
        rounds = []
        for _ in range(int(options.rounds)):
            shutil.rmtree(tables)
            rounds.append(run(export))
        wall, cpu, peak = (statistics.median(column) for column in zip(*rounds))
        megabytes = file.stat().st_size / 1e6
        mapped = file.stat().st_size / 2**20
        figures = [megabytes, wall, cpu, megabytes / cpu, peak, peak - mapped, share]
    print("\t".join(f"{figure:.3g}" for figure in figures))


if __name__ == "__main__":
    main()
