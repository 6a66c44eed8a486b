"""The command `hprof`, which reads and writes every HPROF file."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


class Failed(Exception):
    """`hprof` failed; the message is its own."""


@dataclass(frozen=True)
class Hprof:
    """The command at a path."""

    path: str

    @staticmethod
    def find(told: str | None) -> Hprof:
        """Return the given command, or `$HPROF_CLI`, or the one on the search path."""
        name = told or os.environ.get("HPROF_CLI") or "hprof"
        path = shutil.which(name)
        if path is None:
            raise Failed(f"{name}: there is no such command; --hprof FILE tells where `hprof` is")
        return Hprof(str(Path(path).resolve()))

    def export(self, file: Path, folder: Path) -> None:
        """Converts a file to the tables of docs/reference/tables.md."""
        self._run("export", ["--to=parquet", f"--output={folder}"], [file])

    def export_dump(self, file: Path, folder: Path) -> str:
        """As `export`, with retained sizes and values; of a cut dump, what is there. Returns what is missing."""
        options = ["--to=parquet", "--retained", "--values", f"--output={folder}"]
        command = [self.path, "export", *options, "--", _named(file)]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        said = done.stderr.decode(errors="replace").strip()
        is_there = (folder / "object").is_dir() and (folder / "root").is_dir()
        if done.returncode == 1 and is_there:
            return said.removeprefix("hprof: ")
        if done.returncode != 0 or not is_there:
            raise Failed(said.removeprefix("hprof: ") or f"exit status {done.returncode}")
        return ""

    def merge(self, files: Sequence[Path], output: Path, host: str | None = None) -> None:
        """Adds profiles up."""
        label = [f"--label=host={host}"] if host else []
        self._run("merge", [*label, f"--output={output}"], files)

    def flame(self, profile: Path, output: Path, options: Sequence[str]) -> None:
        """Draws a flame graph."""
        self._run("flame", [f"--output={output}", *options], [profile])

    def _run(self, verb: str, options: Sequence[str], files: Sequence[Path]) -> None:
        # Whoever names a file must not choose an option: what follows `--` is none.
        named = [_named(file) for file in files]
        command = [self.path, verb, *options, "--", *named]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        if done.returncode != 0:
            said = done.stderr.decode(errors="replace").strip()
            raise Failed(said.removeprefix("hprof: ").removeprefix(f"{named[0]}: ") or f"exit status {done.returncode}")


def _named(file: Path) -> str:
    """Return the argument for a file: `-` would be the standard input."""
    return "./-" if str(file) == "-" else str(file)
