"""The engine that is asked for, or the one that is installed."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec

from hprof_fleet.engine import Engine, NoAnswer
from hprof_fleet.samples import Reading


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
