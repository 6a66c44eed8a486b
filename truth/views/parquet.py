"""`hprof export --to parquet`, asked with SQL by DuckDB."""

import json

from suite import runs
from suite.answers import CannotRun

from . import row

NAME = "parquet"
# The tables with values, and their columns with the name and unit that these have in other exports.
TABLES = {
    "cpu_sample": {"cpu_ns": ("cpu", "nanoseconds")},
    "wall_sample": {"wall_ns": ("wall", "nanoseconds")},
    "lock_wait": {"wait_ns": ("lock-wait", "nanoseconds")},
    "monitor": {"contended_ns": ("contention", "nanoseconds"), "contentions": ("contentions", "count")},
    "call_time": {"self_ns": ("time", "nanoseconds"), "calls": ("calls", "count")},
    "alloc_site": {
        "alloc_bytes": ("alloc-bytes", "bytes"),
        "alloc_objects": ("alloc-objects", "count"),
        "live_bytes": ("live-bytes", "bytes"),
        "live_objects": ("live-objects", "count"),
    },
}
# Run by the Python that has DuckDB: prints a list of tables, stacks and classes.
QUERY = """
import duckdb, json, sys
folder, tables = sys.argv[1], json.loads(sys.argv[2])
ask = lambda query: duckdb.sql(query).fetchall()
table = lambda name: f"'{folder}/{name}/*.parquet'"
joined = f"{table('trace_frame')} join {table('frame')} using (run_id, frame_id)"
stacks = ask(f"select trace_id, position, class_name, method, line from {joined} order by all")
classes = dict(ask(f"select class_id, name from {table('class')}"))
rows = {}
for name, columns in tables.items():
    more = {"lock_wait": "class_id, holder_trace_id", "monitor": "class_id, null", "alloc_site": "class_id, null"}.get(name, "null, null")
    rows[name] = ask(f"select trace_id, {more}, {', '.join(columns)} from {table(name)}")
json.dump([stacks, classes, rows], sys.stdout)
"""


def python(places):
    return places.tool("HPROF_DUCKDB", "venv/bin/python")


def find(places):
    if not python(places):
        raise CannotRun("there is no Python with DuckDB")
    runs.call(python(places), "-c", "import duckdb")


def read(run, file):
    folder = run.folder / "tables"
    runs.call(run.places.cli, "export", "--to", "parquet", "-o", folder, file)
    said = runs.call(python(run.places), "-c", QUERY, folder, json.dumps({name: list(columns) for name, columns in TABLES.items()}))
    frames, classes, tables = json.loads(said)
    stacks = {}
    for trace, _, owner, method, line in frames:
        stacks.setdefault(trace, []).append((".".join(filter(None, (owner, method))), line))
    found = []
    for name, columns in TABLES.items():
        for trace, of_class, holder, *amounts in tables[name]:
            labels = {"class": classes.get(str(of_class)), "holder": stacks.get(holder)}
            for (metric, unit), amount in zip(columns.values(), amounts, strict=True):
                found += row(stacks.get(trace, []), metric, unit, amount, labels)
    return found
