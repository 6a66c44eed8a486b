"""The interface of the engines that run the SQL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


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
