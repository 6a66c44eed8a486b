"""The command line."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hprof_fleet import queries, show
from hprof_fleet.binary import Failed, Hprof
from hprof_fleet.changes import Change, Costs, changes, scaled
from hprof_fleet.engine import Damaged, Engine, NoAnswer, Read
from hprof_fleet.open_engine import open_engine
from hprof_fleet.samples import Reading
from hprof_fleet.values import BY_NAME, SAMPLED_TIME, SAMPLES, VALUES, Value

# Exit statuses other than 0.
DAMAGED = 1
NO_ANSWER = 2

_PERIODS = {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit status."""
    options = _parser().parse_args(arguments)
    # Only the owner may read profiles.
    os.umask(0o077)
    try:
        if options.run is None:
            return _sql(Hprof.find(options.hprof), options)
        reading = Reading(Hprof.find(options.hprof), options.host)
        engine = open_engine(options.engine, reading, dict(options.conf))
        try:
            damaged: list[Damaged] = options.run(engine, reading.hprof, options)
        finally:
            engine.close()
    except BrokenPipeError:
        # The reader has closed the output; there is nothing left to flush.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (NoAnswer, Failed, OSError) as error:
        _complain(str(error))
        return NO_ANSWER
    for one in damaged:
        _complain(f"{one.file}: left out: {one.reason}")
    return DAMAGED if damaged else 0


def _sql(hprof: Hprof, options: argparse.Namespace) -> int:
    # The other commands do without DuckDB where there is Spark.
    try:
        from hprof_fleet import dump
    except ImportError as error:
        raise NoAnswer("`sql` needs DuckDB: pip install 'hprof-fleet[duckdb]'") from error
    answer = dump.ask(hprof, options.dump, options.query)
    if options.json:
        rows = [dict(zip(answer.columns, row)) for row in answer.rows]
        json.dump({"rows": rows, "incomplete": answer.incomplete}, sys.stdout, indent=2, default=str)
        sys.stdout.write("\n")
    else:
        show.columns(answer.columns, answer.rows)
    if answer.incomplete:
        _complain(answer.incomplete)
        return DAMAGED
    return 0


def _complain(what: str) -> None:
    print("hprof-fleet:", show.printable(what.replace("\n", " ")), file=sys.stderr)


def _merge(engine: Engine, _hprof: Hprof, options: argparse.Namespace) -> list[Damaged]:
    damaged: list[Damaged] = []
    if options.parquet is not None:
        damaged += _read(engine, "sample", options.files)
        engine.write(queries.merged("sample", options.period), options.parquet)
    if options.output is not None:
        damaged += _whole(engine.merge(options.files, options.output))
    # A file that both have found is reported once.
    return list({one.file: one for one in damaged}.values())


def _flame(engine: Engine, hprof: Hprof, options: argparse.Namespace) -> list[Damaged]:
    drawn = ["--value", options.value.name] if options.value else []
    drawn += ["--inverted"] if options.inverted else []
    drawn += ["--by-thread"] if options.by_thread else []
    with tempfile.TemporaryDirectory(prefix="hprof-fleet-") as folder:
        # The page shows the name.
        profile = Path(folder) / f"{options.output.stem}.hprof"
        damaged = _whole(engine.merge(options.files, profile))
        hprof.flame(profile, options.output, drawn)
    return damaged


def _top(engine: Engine, _hprof: Hprof, options: argparse.Namespace) -> list[Damaged]:
    damaged = _read(engine, "sample", options.files)
    value, all_of_it = _choose(engine, ["sample"], options.value)
    rows = engine.rows(queries.costs("sample", value, options.by, engine.explode))
    if options.filter:
        rows = [row for row in rows if options.filter.search(row[0])]
    if options.total:
        rows.sort(key=lambda row: (-row[2], -row[1]))
    rows = rows[: options.number or None]
    if options.json:
        _json(
            {"format": "hprof-top", "version": 1, **_described(value, options.by), "section": 1, "sections": 1},
            total=all_of_it,
            rows=[{"name": name, "self": own, "total": total} for name, own, total in rows],
        )
        return damaged
    print(f"{value.name}: {show.with_unit(all_of_it, value.unit)}")
    cells = [
        [
            show.number(own, value.unit),
            show.percent(own, all_of_it),
            show.number(total, value.unit),
            show.percent(total, all_of_it),
            name,
        ]
        for name, own, total in rows
    ]
    show.table(["self", "%", "total", "%", options.by], cells)
    return damaged


def _diff(engine: Engine, _hprof: Hprof, options: argparse.Namespace) -> list[Damaged]:
    damaged = _read(engine, "base", [options.base]) + _read(engine, "new", [options.new])
    views = ["base", "new"]
    value, after = _choose(engine, views[::-1], options.value)
    _, before = _choose(engine, views[:1], value)
    scale = (after, before) if options.normalise else (1, 1)
    base, new = (engine.rows(queries.costs(view, value, options.by, engine.explode)) for view in ("base", "new"))
    changed = changes(base, new, scale, options.total)[: options.number or None]
    before = scaled(before, scale)
    if options.json:
        _json(
            {"format": "hprof-diff", "version": 1, **_described(value, options.by), "normalised": options.normalise},
            base_total=before,
            new_total=after,
            rows=[{"name": one.name, "base": _sums(one.base), "new": _sums(one.new)} for one in changed],
            failed=[],
        )
        return damaged
    difference = show.number(after - before, value.unit, "+")
    summary = f"from {show.number(before, value.unit)} to {show.with_unit(after, value.unit)}"
    print(f"{value.name}: {summary}, {difference} ({show.relative(before, after)})")
    cells = [_cells(one, value, options.total) for one in changed]
    show.table(["base", "new", "change", "%", "", options.by], cells)
    return damaged


def _cells(change: Change, value: Value, total: bool) -> list[str]:
    base, new = change.of(total)
    seen = "appeared" if change.base is None else "vanished" if change.new is None else ""
    numbers = [show.number(base, value.unit), show.number(new, value.unit), show.number(new - base, value.unit, "+")]
    return [*numbers, show.relative(base, new), seen, change.name]


def _sums(costs: Costs | None) -> dict[str, int] | None:
    return {"self": costs.own, "total": costs.total} if costs else None


def _described(value: Value, by: str) -> dict[str, str]:
    return {"value": value.name, "unit": value.unit, "by": by}


def _json(head: dict[str, Any], **rest: Any) -> None:
    print(json.dumps({**head, **rest}, ensure_ascii=False, separators=(",", ":")))


def _read(engine: Engine, view: str, patterns: Sequence[str]) -> list[Damaged]:
    return _whole(engine.read(view, patterns))


def _whole(read: Read) -> list[Damaged]:
    if read.whole == 0:
        reasons = "; ".join(f"{one.file}: {one.reason}" for one in read.damaged[:3])
        raise NoAnswer(f"no file is whole: {reasons}")
    return read.damaged


def _choose(engine: Engine, views: Sequence[str], wanted: Value | None) -> tuple[Value, int]:
    """Return the wanted value, or the first that the files of the first view have; and its total.

    CPU samples that stand for different times, in one of the views or between them, are counted as times.
    """
    (totals,) = engine.rows(queries.totals(views[0]))
    there = {value: total for value, total in zip(VALUES, totals) if total is not None}
    if not there:
        raise NoAnswer("the files have no values: they may be heap dumps alone")
    if wanted is not None and wanted not in there:
        raise NoAnswer(f"the files have no value `{wanted.name}`, only {', '.join(value.name for value in there)}")
    value = wanted or next(iter(there))
    if value is SAMPLES and _have_intervals(engine, views):
        if wanted is not None or SAMPLED_TIME not in there:
            raise NoAnswer(
                f"the CPU samples of the files stand for different times, or for times that are not known: "
                f"--value {SAMPLED_TIME.name} has times"
            )
        value = SAMPLED_TIME
    return value, there[value]


def _have_intervals(engine: Engine, views: Sequence[str]) -> bool:
    """Tell whether the CPU samples of some files stand for other times than those of others."""
    found = [row for view in views for row in engine.rows(queries.intervals(view))]
    return len({interval for (interval,) in found}) > 1


def _period(text: str) -> int:
    found = re.fullmatch(r"([1-9][0-9]*)([smhd])", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"`{text}` is no period; 10m, 1h and 1d are some")
    return int(found.group(1)) * _PERIODS[found.group(2)]


def _setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals:
        raise argparse.ArgumentTypeError(f"`{text}` is no setting; spark.master=yarn is one")
    return name, value


def _value(name: str) -> Value:
    if name not in BY_NAME:
        raise argparse.ArgumentTypeError(f"`{name}` is not a value; there are {', '.join(BY_NAME)}")
    return BY_NAME[name]


def _regex(groups: int) -> Callable[[str], re.Pattern[str]]:
    def parse(text: str) -> re.Pattern[str]:
        try:
            regex = re.compile(text)
        except re.error as error:
            raise argparse.ArgumentTypeError(f"`{text}`: {error}") from error
        if regex.groups < groups:
            raise argparse.ArgumentTypeError(f"`{text}` has no group (in round brackets)")
        return regex

    return parse


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hprof-fleet", description="Profiles of many JVMs as one.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, run: Callable[..., list[Damaged]], what: str) -> argparse.ArgumentParser:
        added = commands.add_parser(name, help=what, description=what)
        added.set_defaults(run=run)
        added.add_argument("--engine", choices=("duckdb", "spark"), help="default: DuckDB where it is installed")
        added.add_argument("--hprof", metavar="FILE", help="the command `hprof`; default: $HPROF_CLI, or on the PATH")
        added.add_argument("--conf", type=_setting, action="append", default=[], metavar="NAME=VALUE", help="for Spark")
        added.add_argument("--host", type=_regex(1), metavar="REGEX", help="its group in a file's name is the host")
        return added

    merge = command("merge", _merge, "Add profiles up, by stack, class, thread, host and time.")
    merge.add_argument("files", nargs="+", metavar="GLOB")
    merge.add_argument("-o", "--output", type=Path, metavar="FILE", help="one HPROF profile, for `hprof report`")
    merge.add_argument("--parquet", metavar="PATH", help="the sums as Parquet: a file on DuckDB, a folder on Spark")
    merge.add_argument("--period", type=_period, default="1h", help="the time that is one in the Parquet (1h)")

    top = command("top", _top, "Show what costs most.")
    top.add_argument("files", nargs="+", metavar="GLOB")
    top.add_argument("--filter", type=_regex(0), metavar="REGEX", help="only rows whose name this finds")

    diff = command("diff", _diff, "Compare two sets of profiles.")
    diff.add_argument("base", metavar="BASE")
    diff.add_argument("new", metavar="NEW")
    diff.add_argument("--normalise", action="store_true", help="scale the base to the total of the new")

    for ranked in (top, diff):
        ranked.add_argument("--by", choices=queries.BY, default="method", help="what makes a row (method)")
        ranked.add_argument("--total", action="store_true", help="order by a row and all that it called")
        ranked.add_argument("-n", "--number", type=int, default=20, help="so many rows; 0 for all")
        ranked.add_argument("--json", action="store_true", help="as `hprof` writes it")

    flame = command("flame", _flame, "Draw one flame graph.")
    flame.add_argument("files", nargs="+", metavar="GLOB")
    flame.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="NAME.html or NAME.svg")
    flame.add_argument("--inverted", action="store_true", help="start at the innermost frames")
    flame.add_argument("--by-thread", action="store_true", help="keep threads apart")

    what = "Answer a question in SQL about a heap dump. Its tables are kept in DUMP.tables."
    sql = commands.add_parser("sql", help=what, description=what)
    # It reads no profiles, and has no engine to choose.
    sql.set_defaults(run=None)
    sql.add_argument("dump", type=Path, metavar="DUMP")
    sql.add_argument("query", metavar="SQL", help="such as: SELECT class, count(*) FROM objects GROUP BY class")
    sql.add_argument("--hprof", metavar="FILE", help="the command `hprof`; default: $HPROF_CLI, or on the PATH")
    sql.add_argument("--json", action="store_true", help="rows with the names of their columns")

    for valued in (top, diff, flame):
        valued.add_argument("--value", type=_value, help="as in `hprof top`; default: the first that the files have")
    return parser
