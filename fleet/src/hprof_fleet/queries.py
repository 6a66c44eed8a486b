"""The SQL, the same on every engine except for the name of one function.

A view of samples has the columns of `samples.SAMPLE`. Costs are defined as in `hprof top`.
"""

from __future__ import annotations

from hprof_fleet.values import SAMPLED_TIME, SAMPLES, VALUES, Value

# The meaning of a row: columns of a sample, and their names if the file does not identify them.
LABELS = {
    "thread": ("thread", "<any thread>"),
    "type": ("class", "<unknown>"),
    "host": ("host", "<any host>"),
    "file": ("file", ""),
}
# The meaning of a row: a part of the frame `frame`, which is Class.method, or <a marker> without a dot.
_CLASS = "regexp_replace(frame, '[.][^.]*$', '')"
FRAMES = {
    "method": "frame",
    "class": _CLASS,
    "package": f"CASE WHEN frame NOT LIKE '%.%' THEN frame WHEN {_CLASS} NOT LIKE '%.%' THEN '<no package>' "
    f"ELSE regexp_replace({_CLASS}, '[.][^.]*$', '') END",
}
BY = (*FRAMES, "stack", *LABELS)


def merged(view: str, period_ms: int) -> str:
    """Return the sums by stack, class, thread, host and period of the start."""
    sums = ", ".join(f"CAST(SUM({value.column}) AS BIGINT) AS {value.column}" for value in VALUES)
    return f"""
        WITH dated AS (SELECT *, started_ms - started_ms % {period_ms} AS period_ms FROM {view})
        SELECT stack, class, thread, host, period_ms, COUNT(DISTINCT file) AS files, {sums}
        FROM dated GROUP BY stack, class, thread, host, period_ms
        ORDER BY stack, class, thread, host, period_ms"""


def totals(view: str) -> str:
    """Return one row: the total of every value, null if no file has it."""
    return f"SELECT {', '.join(f'CAST(SUM({value.column}) AS BIGINT)' for value in VALUES)} FROM {view}"


def intervals(view: str) -> str:
    """Return the times that CPU samples stand for, in nanoseconds; 0 if it is not known."""
    return f"""
        SELECT DISTINCT CAST(COALESCE({SAMPLED_TIME.column} / {SAMPLES.column}, 0) AS BIGINT)
        FROM {view} WHERE {SAMPLES.column} > 0"""


def costs(view: str, value: Value, by: str, explode: str) -> str:
    """Return rows of name, own and total cost, largest own cost first. `explode` is the engine's function for lists."""
    if by in LABELS or by == "stack":
        column, unknown = LABELS.get(by, ("stack", ""))
        own = f"""
            SELECT name, value AS own, value AS total FROM (
                SELECT COALESCE({column}, '{unknown}') AS name, CAST(SUM({value.column}) AS BIGINT) AS value
                FROM {view} GROUP BY 1) AS sums
            WHERE value > 0"""
        return f"{own} ORDER BY own DESC, total DESC, name"
    part = FRAMES[by]
    return f"""
        WITH spent AS (
            SELECT stack, CAST(SUM({value.column}) AS BIGINT) AS value
            FROM {view} WHERE {value.column} > 0 GROUP BY stack),
        frames AS (SELECT stack, value, {explode}(split(stack, ';')) AS frame FROM spent),
        once AS (SELECT DISTINCT stack, value, {part} AS name FROM frames),
        totals AS (SELECT name, CAST(SUM(value) AS BIGINT) AS total FROM once GROUP BY name),
        innermost AS (SELECT value, regexp_replace(stack, '(?s)^.*;', '') AS frame FROM spent),
        owns AS (SELECT {part} AS name, CAST(SUM(value) AS BIGINT) AS own FROM innermost GROUP BY 1)
        SELECT name, COALESCE(own, 0) AS own, total FROM totals LEFT JOIN owns USING (name)
        ORDER BY own DESC, total DESC, name"""
