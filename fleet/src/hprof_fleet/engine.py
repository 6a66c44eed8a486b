"""What runs the SQL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Protocol

from hprof_fleet.samples import Reading


class NoAnswer(Exception):
    """There is nothing to answer from; says why."""


@dataclass(frozen=True, order=True)
class Damaged:
    """A file that was left out."""

    file: str
    reason: str


@dataclass(frozen=True)
class Read:
    """What came of reading files."""

    whole: int
    """How many files were read to their end."""
    damaged: list[Damaged]
    """The others, in order."""


class Engine(Protocol):
    """DuckDB, or Spark."""

    explode: str
    """The function that makes rows of a list."""

    def read(self, view: str, patterns: Sequence[str]) -> Read:
        """Makes a view of the samples of all files that the patterns name."""

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        """The answer."""

    def write(self, query: str, path: str) -> None:
        """The answer as Parquet, in place of what was there."""

    def merge(self, patterns: Sequence[str], output: Path) -> Read:
        """Adds the files up to one HPROF profile."""

    def close(self) -> None:
        """Lets go of files and processes."""


def open_engine(name: str | None, reading: Reading, settings: Mapping[str, str]) -> Engine:
    """The engine of that name; without one DuckDB where it is installed, else Spark, which takes the settings."""
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
