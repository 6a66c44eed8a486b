"""Reads tables of `hprof export --to parquet` with DuckDB and pyarrow.

    tables.py sums FOLDER         prints, as JSON, for each file of table `run`: rows of every table and sums of every number that
                                  can be added up; both readers must agree
    tables.py stacks FOLDER       prints, as JSON, the bytes that each stack of all runs allocates
    tables.py query FOLDER FILE   runs each ```sql block of a Markdown file; prints, as JSON, the rows of each
"""

import json
import glob
import pathlib
import re
import sys

import duckdb
import pyarrow.compute as compute
import pyarrow.dataset as dataset

ADDED = re.compile(r"(^|_)(bytes|objects|samples|calls|ns|contentions)$")


def tables(folder: pathlib.Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def connect(folder: pathlib.Path) -> duckdb.DuckDBPyConnection:
    connection = duckdb.connect()
    for name in tables(folder):
        pattern = f"{glob.escape(str(folder))}/{name}/*.parquet".replace("'", "''")
        connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{pattern}')")
    return connection


def by_duckdb(connection: duckdb.DuckDBPyConnection, table: str, columns: list[str], run: int) -> list[int]:
    wanted = ", ".join(["count(*)", *(f"coalesce(sum({column}), 0)" for column in columns)])
    row = connection.execute(f"SELECT {wanted} FROM {table} WHERE run_id = {run}").fetchone()
    return [int(value) for value in row]


def by_pyarrow(folder: pathlib.Path, table: str, columns: list[str], run: int) -> list[int]:
    read = dataset.dataset(folder / table, format="parquet").to_table(filter=compute.field("run_id") == run)
    return [read.num_rows, *(compute.sum(read[column]).as_py() or 0 for column in columns)]


def sums(folder: pathlib.Path) -> dict:
    connection = connect(folder)
    found = {}
    for run, file in connection.execute("SELECT run_id, file FROM run").fetchall():
        of_file = found.setdefault(file, {})
        for table in tables(folder):
            names = [row[0] for row in connection.execute(f"DESCRIBE {table}").fetchall()]
            columns = [name for name in names if ADDED.search(name)]
            values = by_duckdb(connection, table, columns, run)
            other = by_pyarrow(folder, table, columns, run)
            assert values == other, f"{table} {columns}: DuckDB {values}, pyarrow {other}"
            of_file[table] = dict(zip(["rows", *columns], values))
    return found


def query(folder: pathlib.Path, document: pathlib.Path) -> list:
    connection = connect(folder)
    blocks = re.findall(r"^```sql\n(.*?)^```$", document.read_text(), re.DOTALL | re.MULTILINE)
    return [connection.execute(block).fetchall() for block in blocks]


def stacks(folder: pathlib.Path) -> dict:
    rows = connect(folder).execute("""
        SELECT any_value(s.stack), SUM(a.alloc_bytes)
        FROM alloc_site a
        JOIN trace s ON s.run_id = a.run_id AND s.trace_id = a.trace_id
        GROUP BY s.stack_hash
        HAVING SUM(a.alloc_bytes) > 0""")
    return {stack: int(total) for stack, total in rows.fetchall()}


def main() -> None:
    what, folder, *rest = sys.argv[1:]
    folder = pathlib.Path(folder)
    answers = {"sums": sums, "stacks": stacks, "query": query}
    json.dump(answers[what](folder, *map(pathlib.Path, rest)), sys.stdout, default=str)


if __name__ == "__main__":
    main()
