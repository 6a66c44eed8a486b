"""Questions in SQL about a heap dump: its tables are made once, and kept next to it."""

from __future__ import annotations

import json
import os
import shutil
import stat
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from hprof_fleet.binary import Failed, Hprof

# What the tables were made of. It is written last: without it, they are not complete.
_MADE_OF = "made-of.json"
# Increased when what is kept changes.
_VERSION = 2

# What most questions begin with: each object with the name of its class and the stack that allocated it.
_OBJECTS = """
CREATE VIEW objects AS
SELECT o.object_id, c.name AS class, o.shallow_bytes, o.retained_bytes, o.length, o.dominator_id, s.stack,
       o.born_from_ms, o.born_to_ms, c.loader_id
FROM object o
LEFT JOIN class c USING (class_id)
LEFT JOIN trace s ON s.trace_id = o.trace_id
"""
_REFERENCES = """
CREATE VIEW "references" AS
SELECT r.from_id, r.to_id, f.name AS field, r.element, coalesce(f.is_static, false) AS is_static
FROM reference r
LEFT JOIN field f USING (field_id)
"""
# Each field with its value: a number, or the object that it refers to; none for null.
_FIELDS = """
CREATE VIEW fields AS
SELECT v.object_id, f.name AS field, f.type, v.number, v.real, CAST(NULL AS BIGINT) AS to_id, f.is_static
FROM value v
JOIN field f USING (field_id)
UNION ALL
SELECT r.from_id, f.name, f.type, NULL, NULL, r.to_id, f.is_static
FROM reference r
JOIN field f USING (field_id)
"""


@dataclass(frozen=True)
class Answer:
    """The rows of an answer."""

    columns: list[str]
    rows: list[tuple[Any, ...]]
    incomplete: str
    """What is missing in the dump, in the words of `hprof`; empty if it is whole."""


def ask(hprof: Hprof, dump: Path, query: str) -> Answer:
    """Answer a question."""
    folder, incomplete = _tables(hprof, dump)
    try:
        with duckdb.connect() as connection:
            # What was checked is what is read, whatever has the folder's name by now.
            place = f"/proc/self/fd/{folder}"
            for table in sorted(os.listdir(folder)):
                if table == _MADE_OF:
                    continue
                files = sorted(f"{place}/{table}/{name}" for name in os.listdir(f"{place}/{table}"))
                listed = ", ".join("'" + file.replace("'", "''") + "'" for file in files)
                connection.execute(f'CREATE VIEW "{table}" AS SELECT * EXCLUDE (run_id) FROM read_parquet([{listed}])')
            for view in (_OBJECTS, _REFERENCES, _FIELDS):
                connection.execute(view)
            try:
                found = connection.execute(query)
            except duckdb.Error as error:
                raise Failed(f"the question cannot be answered: {error}") from error
            columns = [column[0] for column in found.description or ()]
            return Answer(columns, found.fetchall(), incomplete)
    finally:
        os.close(folder)


def _tables(hprof: Hprof, dump: Path) -> tuple[int, str]:
    """Return a descriptor of the folder with the tables of a dump, made if they are not there, and what is missing."""
    path = dump.with_name(f"{dump.name}.tables")
    made_of = _identity(dump)
    known = _kept(path, made_of)
    if known is not None:
        return known
    try:
        made = Path(tempfile.mkdtemp(prefix=f".{dump.name}.", dir=dump.parent))
    except OSError as error:
        raise Failed(
            f"{dump}: its tables are kept next to it, and no folder can be made there: {error.strerror}"
        ) from error
    try:
        incomplete = hprof.export_dump(dump, made)
        if _identity(dump) != made_of:
            raise Failed(f"{dump}: it has changed while its tables were made")
        (made / _MADE_OF).write_text(json.dumps({"made_of": made_of, "incomplete": incomplete}))
        _replace(made, path)
    except BaseException:
        shutil.rmtree(made, ignore_errors=True)
        raise
    known = _kept(path, made_of)
    if known is None:
        raise Failed(f"{path}: it was replaced while it was made")
    return known


def _identity(dump: Path) -> list[int]:
    """Return what changes when a file is written again."""
    found = dump.stat()
    return [_VERSION, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns]


def _kept(path: Path, made_of: Sequence[int]) -> tuple[int, str] | None:
    """Return a descriptor of a folder with tables that fit, and what is missing in them."""
    try:
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return None
    try:
        found = os.fstat(folder)
        is_own = found.st_uid == os.geteuid() and not stat.S_IMODE(found.st_mode) & 0o077
        note = os.open(_MADE_OF, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        with open(note, encoding="utf-8") as file:
            kept = json.load(file)
        if is_own and kept["made_of"] == list(made_of):
            return folder, str(kept["incomplete"])
    except (OSError, ValueError, KeyError, TypeError):
        pass
    os.close(folder)
    return None


def _replace(made: Path, path: Path) -> None:
    """Give a folder its name. Tables of another state of the dump are removed, and nothing else."""
    if path.is_symlink() or path.exists():
        if path.is_symlink() or not (path / _MADE_OF).is_file():
            raise Failed(f"{path}: something else has the name of the tables; move it away")
        old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        os.rename(path, old / path.name)
        shutil.rmtree(old)
    os.rename(made, path)
