"""The comparison of two sets of costs, as in `hprof diff`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """The costs of a row."""

    own: int
    total: int


@dataclass(frozen=True)
class Change:
    """The costs of a row in both sets; None if it does not occur."""

    name: str
    base: Costs | None
    new: Costs | None

    def of(self, total: bool) -> tuple[int, int]:
        """Return the own costs of both, or the total ones."""
        base, new = (costs or Costs(0, 0) for costs in (self.base, self.new))
        return (base.total, new.total) if total else (base.own, new.own)

    def size(self, total: bool) -> int:
        """Return the amount of the change, up or down."""
        base, new = self.of(total)
        return abs(new - base)


def changes(
    base: Iterable[tuple[str, int, int]], new: Iterable[tuple[str, int, int]], scale: tuple[int, int], total: bool
) -> list[Change]:
    """Return the changes, the largest first. The base is scaled by a numerator and a denominator."""
    before = {name: Costs(scaled(own, scale), scaled(whole, scale)) for name, own, whole in base}
    after = {name: Costs(own, whole) for name, own, whole in new}
    both = [Change(name, before.get(name), after.get(name)) for name in before.keys() | after.keys()]
    changed = [change for change in both if change.size(total)]
    return sorted(changed, key=lambda change: (-change.size(total), -change.size(not total), change.name))


def scaled(value: int, scale: tuple[int, int]) -> int:
    """Multiply a value by a fraction, rounding to the nearest whole number."""
    numerator, denominator = scale
    if numerator == denominator or denominator == 0:
        return value
    return (value * numerator + denominator // 2) // denominator
