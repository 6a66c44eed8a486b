"""Spark: files of every file system that it supports, converted by its executors."""

from __future__ import annotations

import os
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import SparkFiles
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema

import hprof_fleet
from hprof_fleet.binary import Failed, Hprof
from hprof_fleet.engine import Damaged, NoAnswer, Read
from hprof_fleet.profiles import add_up
from hprof_fleet.samples import SAMPLE, Reading

# The most bytes in a row; a profile is far smaller, a heap dump may be larger.
_MOST_BYTES = 2**31 - 2**20
# Applications whose executors have this package and this `hprof`.
_EQUIPPED: set[tuple[str, Hprof]] = set()
_SAMPLE_OR_REASON = SAMPLE.append(pa.field("reason", pa.string()))
_PART = pa.schema([("file", pa.string()), ("reason", pa.string()), ("profile", pa.binary())])


class Spark:
    """The engine."""

    explode = "explode"

    def __init__(self, reading: Reading, settings: Mapping[str, str]) -> None:
        # If the executors have the same Python; otherwise the user has named one.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        builder = SparkSession.builder.appName("hprof-fleet")
        # Only the owner may read the output.
        builder = builder.config("spark.hadoop.fs.permissions.umask-mode", "077")
        builder = builder.config("spark.ui.showConsoleProgress", False)
        for name, value in settings.items():
            builder = builder.config(name, value)
        self._own = SparkSession.getActiveSession() is None
        self._session = builder.getOrCreate()
        self._kept: list[DataFrame] = []
        self._session.sparkContext.setLogLevel("ERROR")
        # A batch has the content of its files.
        self._session.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 1)
        context = self._session.sparkContext
        if (context.applicationId, reading.hprof) not in _EQUIPPED:
            context.addFile(reading.hprof.path)
            context.addPyFile(_package())
            _EQUIPPED.add((context.applicationId, reading.hprof))
        self._reading = reading

    def read(self, view: str, patterns: Sequence[str]) -> Read:
        files, too_large, count = self._files(patterns)
        reading = self._reading

        def convert(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with tempfile.TemporaryDirectory(prefix="hprof-fleet-") as folder:
                for path, name in _local(batches, Path(folder)):
                    try:
                        rows = _there(reading).samples(path, name)
                    except Failed as failed:
                        yield from _said(Damaged(name, str(failed)), _SAMPLE_OR_REASON)
                        continue
                    finally:
                        path.unlink()
                    reasons = pa.nulls(rows.num_rows, pa.string())
                    yield from rows.append_column("reason", reasons).to_batches()

        rows = files.mapInArrow(convert, from_arrow_schema(_SAMPLE_OR_REASON)).persist()
        self._kept.append(rows)
        reasons = rows.where("reason IS NOT NULL").select("file", "reason").collect()
        rows.where("reason IS NULL").drop("reason").createOrReplaceTempView(view)
        damaged = sorted([Damaged(row["file"], row["reason"]) for row in reasons] + too_large)
        return Read(count - len(damaged), damaged)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self._session.sql(query).collect()]

    def write(self, query: str, path: str) -> None:
        self._session.sql(query).write.mode("overwrite").parquet(path)

    def merge(self, patterns: Sequence[str], output: Path) -> Read:
        files, damaged, count = self._files(patterns)
        reading = self._reading

        def part(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            with tempfile.TemporaryDirectory(prefix="hprof-fleet-") as folder:
                output = Path(folder) / "part.hprof"
                for one in add_up(_there(reading), _local(batches, Path(folder)), output):
                    yield from _said(one, _PART)
                if output.exists():
                    row = {"profile": output.read_bytes()}
                    yield from pa.Table.from_pylist([row], schema=_PART).to_batches()

        with tempfile.TemporaryDirectory(prefix="hprof-fleet-") as folder:
            parts: list[Path] = []
            for row in files.mapInArrow(part, from_arrow_schema(_PART)).toLocalIterator():
                if row["profile"] is None:
                    damaged.append(Damaged(row["file"], row["reason"]))
                    continue
                parts.append(Path(folder) / f"{len(parts)}.hprof")
                parts[-1].write_bytes(row["profile"])
            if parts:
                reading.hprof.merge(parts, output)
        return Read(count - len(damaged), sorted(damaged))

    def close(self) -> None:
        for rows in self._kept:
            rows.unpersist()
        if self._own:
            self._session.stop()

    def _files(self, patterns: Sequence[str]) -> tuple[DataFrame, list[Damaged], int]:
        """Return paths and contents; the files that are too large for that; the number of all files."""
        try:
            files = self._session.read.format("binaryFile").load([*patterns])
        except AnalysisException as error:
            raise NoAnswer(str(error).splitlines()[0]) from error
        lengths = files.select("path", "length").collect()
        if not lengths:
            raise NoAnswer(f"{', '.join(patterns)}: there is no such file")
        large = [Damaged(row["path"], "too large for Spark") for row in lengths if row["length"] > _MOST_BYTES]
        whole = files.where(f.col("length") <= _MOST_BYTES).select("path", "content")
        return whole, large, len(lengths)


def _local(batches: Iterable[pa.RecordBatch], folder: Path) -> Iterator[tuple[Path, str]]:
    """Write the contents of rows to files; yield each file with its original path."""
    rows = (row for batch in batches for row in batch.to_pylist())
    for number, row in enumerate(rows):
        path = folder / str(number)
        path.write_bytes(row["content"])
        yield path, row["path"]


def _there(reading: Reading) -> Reading:
    """Return the options for an executor, which has its own copy of `hprof`."""
    return replace(reading, hprof=Hprof(SparkFiles.get(Path(reading.hprof.path).name)))


def _said(damaged: Damaged, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    yield from pa.Table.from_pylist([asdict(damaged)], schema=schema).to_batches()


def _package() -> str:
    """Pack this package for executors that do not have it; return the archive."""
    folder = Path(hprof_fleet.__file__).parent
    archive = Path(tempfile.mkdtemp(prefix="hprof-fleet-")) / "hprof_fleet.zip"
    with zipfile.ZipFile(archive, "w") as files:
        for module in folder.glob("*.py"):
            files.write(module, f"{folder.name}/{module.name}")
    return str(archive)
