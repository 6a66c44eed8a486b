"""Tables that look like those of `hprof`."""

from __future__ import annotations

import sys
from collections.abc import Sequence

_UNITS = {"count": "", "bytes": " bytes", "nanoseconds": " ms"}


def number(value: int, unit: str, sign: str = "") -> str:
    """Format a number, times in milliseconds of about four digits; with `sign` `+`, positive ones get a sign, too."""
    minus = "-" if value < 0 else sign if value else ""
    size = abs(value)
    return minus + (millis(size) if unit == "nanoseconds" else str(size))


def millis(nanos: int) -> str:
    """Format nanoseconds as milliseconds: whole ones from 1000 on, otherwise with four significant digits."""
    if nanos == 0:
        return "0"
    dropped = min(max(len(str(nanos)) - 4, 0), 6)
    rounded = (nanos + 10**dropped // 2) // 10**dropped
    if dropped == 6:
        return str(rounded)
    places = 6 - dropped
    return f"{rounded // 10**places}.{rounded % 10**places:0{places}}"


def with_unit(value: int, unit: str) -> str:
    """Format a number with its unit."""
    return number(value, unit) + _UNITS[unit]


def percent(part: int, whole: int) -> str:
    """Format a share."""
    return f"{part * 100 / whole if whole else 0:.2f}"


def relative(base: int, new: int) -> str:
    """Format a change in percent."""
    if base == 0:
        return "new" if new else "0.00%"
    return f"{(new - base) * 100 / base:+.2f}%"


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print columns as wide as their widest cell, numbers aligned right and the name, which is last, aligned left."""
    printed = [[printable(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*printed)]
    for row in printed:
        numbers = [cell.rjust(width) for cell, width in zip(row[:-1], widths)]
        sys.stdout.write("  ".join([*numbers, row[-1]]) + "\n")


def columns(heads: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print columns as wide as their widest cell: those of numbers aligned right, others left; what is null is `-`."""
    texts = [["-" if cell is None else printable(str(cell)) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(heads, *texts)]
    are_numbers = [all(cell is None or isinstance(cell, (int, float)) for cell in column) for column in zip(*rows)]
    for row in (list(heads), *texts):
        cells = [
            cell.rjust(width) if is_number else cell.ljust(width)
            for cell, width, is_number in zip(row, widths, are_numbers or [False] * len(row))
        ]
        sys.stdout.write("  ".join(cells).rstrip() + "\n")


def printable(text: str) -> str:
    """Return text without control characters, which a terminal would obey."""
    return "".join(letter if letter.isprintable() else "?" for letter in text)
