"""Merges many HPROF files into one: `hprof` adds them up exactly, in any order."""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from hprof_fleet.binary import Failed
from hprof_fleet.engine import Damaged
from hprof_fleet.samples import Reading


def add_up(reading: Reading, files: Iterable[tuple[Path, str]], output: Path) -> list[Damaged]:
    """Add up the undamaged files, and return the damaged ones. Without an undamaged one there is no output."""
    by_host: dict[str | None, list[tuple[Path, str]]] = defaultdict(list)
    for file, name in files:
        by_host[reading.host_of(name)].append((file, name))
    damaged: list[Damaged] = []
    with tempfile.TemporaryDirectory(prefix="hprof-fleet-") as folder:
        parts: list[Path] = []

        def add(of_host: list[tuple[Path, str]], host: str | None) -> None:
            part = Path(folder) / f"{len(parts)}.hprof"
            reading.hprof.merge([file for file, _ in of_host], part, host)
            parts.append(part)

        for host, of_host in by_host.items():
            try:
                add(of_host, host)
            except Failed:
                # One of them is damaged: `hprof` makes no sum then, so each file has to be tried alone.
                for file, name in of_host:
                    try:
                        add([(file, name)], host)
                    except Failed as failed:
                        damaged.append(Damaged(name, str(failed)))
        if parts:
            reading.hprof.merge(parts, output)
    return damaged
