"""The interface of the engines that run the SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from hprof_fleet.samples import Reading


class NoAnswer(Exception):
    """There is no data to answer from; the message has the reason."""


@dataclass(frozen=True, order=True)
class Damaged:
    """A file that was skipped."""

    file: str
    reason: str


@dataclass(frozen=True)
class Read:
    """The result of reading files."""

    whole: int
    """How many files were read to their end."""
    damaged: list[Damaged]
    """The others, in order."""


class Engine(Protocol):
    """DuckDB, or Spark."""

    explode: str
    """The function that makes rows of a list."""

    def read(self, view: str, patterns: Sequence[str]) -> Read:
        """Create a view of the samples of all files that match the patterns."""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of the answer."""

    def write(self, query: str, path: str) -> None:
        """Write the answer as Parquet, replacing earlier output."""

    def merge(self, patterns: Sequence[str], output: Path) -> Read:
        """Add up the files into one HPROF profile."""

    def close(self) -> None:
        """Release files and processes."""


def open_engine(name: str | None, reading: Reading, settings: Mapping[str, str]) -> Engine:
    """Return the engine of that name; by default DuckDB if it is installed, else Spark, which takes the settings."""
    name = name or _installed()
    if name == "duckdb":
        from hprof_fleet.duck import Duck

        return Duck(reading)
    from hprof_fleet.spark import Spark

    return Spark(reading, settings)


def _installed() -> str:
    for name, module in (("duckdb", "duckdb"), ("spark", "pyspark")):
        if find_spec(module):
            return name
    raise NoAnswer("neither DuckDB nor Spark is installed: pip install 'hprof-fleet[duckdb]' or 'hprof-fleet[spark]'")
