"""Turns one HPROF file into rows: a stack, its other properties, and its values."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from hprof_fleet.binary import Hprof
from hprof_fleet.values import VALUES

# One row for each row of the file's own tables. Values that the file lacks are null.
SAMPLE = pa.schema(
    [
        ("file", pa.string()),
        ("host", pa.string()),
        ("started_ms", pa.int64()),  # since 1970
        ("thread", pa.string()),
        ("class", pa.string()),  # that was allocated, or whose monitor was wanted
        ("stack", pa.string()),  # outermost;...;innermost, each Class.method
        *((value.column, pa.int64()) for value in VALUES),
    ]
)

# The tables whose rows are of a class, too.
_OF_CLASSES = ("alloc_site", "monitor", "lock_wait")


@dataclass(frozen=True)
class Reading:
    """The options for reading files, which every worker needs."""

    hprof: Hprof
    host: re.Pattern[str] | None = None
    """A regular expression whose first group is the host in a file's name."""

    def host_of(self, name: str) -> str | None:
        """Return the host in a file's name."""
        found = self.host.search(name) if self.host else None
        return found.group(1) if found else None

    def samples(self, file: Path, name: str) -> pa.Table:
        """Return the rows of a file, which has the name `name` in them. Raises `Failed` if the file is damaged."""
        with tempfile.TemporaryDirectory(prefix="hprof-fleet-") as folder:
            self.hprof.export(file, Path(folder))
            return _rows(Path(folder), name, self.host_of(name))


def _rows(folder: Path, name: str, host: str | None) -> pa.Table:
    def read(table: str, *columns: str) -> pa.Table:
        (file,) = (folder / table).glob("*.parquet")
        return pq.read_table(file, columns=list(columns), memory_map=False)

    run = read("run", "created_ms")
    traces = read("trace", "trace_id", "thread_id", "stack", "host")
    threads = read("thread", "thread_id", "name")
    classes = read("class", "class_id", "name")
    tables = []
    for table in dict.fromkeys(value.table for value in VALUES):
        values = [value.column for value in VALUES if value.table == table]
        keys = ["trace_id", "class_id"] if table in _OF_CLASSES else ["trace_id"]
        rows = read(table, *keys, *values)
        if rows.num_rows == 0:
            continue
        hosts = _look_up(traces, "host", rows["trace_id"])
        known = {
            "file": pa.repeat(name, rows.num_rows),
            "host": pa.repeat(host, rows.num_rows) if host else hosts,
            "started_ms": pa.repeat(run["created_ms"][0], rows.num_rows),
            "thread": _look_up(threads, "name", _look_up(traces, "thread_id", rows["trace_id"])),
            "stack": _look_up(traces, "stack", rows["trace_id"]),
            **{value: rows[value] for value in values},
        }
        if "class_id" in keys:
            known["class"] = _look_up(classes, "name", rows["class_id"])
        columns = [known.get(field.name, pa.nulls(rows.num_rows, field.type)) for field in SAMPLE]
        tables.append(pa.table(columns, schema=SAMPLE))
    return pa.concat_tables([SAMPLE.empty_table(), *tables])


def _look_up(table: pa.Table, column: str, keys: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column's value in the row whose first column is the key; null if there is none."""
    return table[column].take(pc.index_in(keys, value_set=table.column(0), skip_nulls=True))
