"""What runs the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


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
