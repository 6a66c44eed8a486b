"""What a user reads of a profile: one file for each view, which brings it into rows with the names and units of the truths.

A view has `NAME`, `find(places)`, which raises `CannotRun` with the reason, and `read(run, file)`. They share no code with the project.
"""

from __future__ import annotations

import re

from suite.answers import Row

# The names of values in exports, and those of the truths, which end with their unit.
VALUES = {
    "cpu": "cpu_ns",
    "wall": "wall_ns",
    "lock-wait": "lock_ns",
    "contention": "contended_ns",
    "contentions": "contentions",
    "calls": "calls",
    "time": "self_ns",
    "alloc-objects": "objects",
    "alloc-bytes": "bytes",
    "live-objects": "live_objects",
    "live-bytes": "live_bytes",
    "temporary-objects": "temporary_objects",
    "temporary-bytes": "temporary_bytes",
}
NANOS = {"nanoseconds": 1, "microseconds": 1_000, "milliseconds": 1_000_000, "seconds": 1_000_000_000}
MARKER = re.compile(r"^(?:java\.lang\.Thread\.)?<(\w+)>$")


def row(stack: list[tuple[str, int | None]], name: str, unit: str, value: float, labels: dict[str, str]) -> list[Row]:
    """Returns the rows of a sample, whose frames are methods with their lines, innermost first. Of a wait for a lock there is
    another row, which belongs to the method that held it."""
    known = VALUES.get(name)
    if known is None:
        return []
    if known.endswith("_ns"):
        # A value that is no time, or has an unknown unit, must not pass for one.
        value *= NANOS.get(unit, 0)
    state = MARKER.match(stack[0][0]) if stack else None
    values = {known: value, "cpu": value} if known == "cpu_ns" else {known: value}
    rows = [Row(frames(stack), labels.get("class") or (state[1] if state else None), labels.get("thread"), values)]
    if labels.get("holder"):
        rows.append(Row(frames(labels["holder"]), None, None, {"held_ns": value}))
    return rows


def frames(stack: list[tuple[str, int | None]] | str) -> tuple[str, ...]:
    """Returns the names of a stack: of each frame its method, and the method with the line."""
    if isinstance(stack, str):
        # A method, perhaps with those that called it.
        return (stack.partition(" (")[0],)
    return tuple(name for method, line in stack for name in ((method, f"{method}:{line}") if line else (method,)))
