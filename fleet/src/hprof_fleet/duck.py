"""DuckDB: runs in this process, on files of this machine."""

from __future__ import annotations

import glob
import itertools
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from hprof_fleet.binary import Failed
from hprof_fleet.engine import Damaged, NoAnswer, Read
from hprof_fleet.profiles import add_up
from hprof_fleet.samples import SAMPLE, Reading

# The most files that are merged at once; a command line can hold only a few thousand.
_AT_ONCE = 250


class Duck:
    """The engine."""

    explode = "unnest"

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._folder = Path(tempfile.mkdtemp(prefix="hprof-fleet-"))
        self._connection = duckdb.connect()
        self._connection.execute(f"SET temp_directory = {_literal(f'{self._folder}/spilled')}")

    def read(self, view: str, patterns: Sequence[str]) -> Read:
        folder = self._folder / view
        folder.mkdir()
        pq.write_table(SAMPLE.empty_table(), folder / "none.parquet")

        def convert(numbered: tuple[int, str]) -> Damaged | None:
            number, file = numbered
            try:
                rows = self._reading.samples(Path(file), file)
            except Failed as failed:
                return Damaged(file, str(failed))
            pq.write_table(rows, folder / f"{number}.parquet", compression="zstd")
            return None

        files = _files(patterns)
        with _workers() as workers:
            damaged = [one for one in workers.map(convert, enumerate(files)) if one]
        pattern = _literal(f"{glob.escape(str(folder))}/*.parquet")
        self._connection.execute(f"CREATE VIEW {view} AS SELECT * FROM read_parquet({pattern})")
        return Read(len(files) - len(damaged), damaged)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        answer: list[tuple[Any, ...]] = self._connection.execute(query).fetchall()
        return answer

    def write(self, query: str, path: str) -> None:
        place = _literal(path.removeprefix("file://"))
        self._connection.execute(f"COPY ({query}) TO {place} (FORMAT parquet, COMPRESSION zstd)")

    def merge(self, patterns: Sequence[str], output: Path) -> Read:
        files = _files(patterns)

        def part(numbered: tuple[int, list[str]]) -> tuple[Path, list[Damaged]]:
            number, some = numbered
            path = self._folder / f"part-{number}.hprof"
            return path, add_up(self._reading, [(Path(file), file) for file in some], path)

        with _workers() as workers:
            parts = list(workers.map(part, enumerate(_batches(files))))
        damaged = [one for _, found in parts for one in found]
        whole = [path for path, _ in parts if path.exists()]
        if whole:
            self._reading.hprof.merge(whole, output)
        return Read(len(files) - len(damaged), damaged)

    def close(self) -> None:
        self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)


def _literal(text: str) -> str:
    """Return the text in SQL."""
    quoted = text.replace("'", "''")
    return f"'{quoted}'"


def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(len(os.sched_getaffinity(0)))


def _batches(files: list[str]) -> Iterator[list[str]]:
    rest = iter(files)
    while some := list(itertools.islice(rest, _AT_ONCE)):
        yield some


def _files(patterns: Sequence[str]) -> list[str]:
    files: set[str] = set()
    for pattern in patterns:
        path = pattern.removeprefix("file://")
        if "://" in path:
            raise NoAnswer(f"{pattern}: DuckDB reads the files of this machine; Spark (--engine spark) reads others")
        found = [path] if os.path.isfile(path) else glob.glob(path, recursive=True)
        found = [file for file in found if os.path.isfile(file)]
        if not found:
            raise NoAnswer(f"{pattern}: there is no such file")
        files.update(found)
    return sorted(files)
