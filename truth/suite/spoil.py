"""Spoils an answer on purpose, after the tool has given it: each kind of fault must be found."""

from __future__ import annotations

import math

from .answers import Answer, Row
from .truths import SHARE_FLOOR, SHARES, SIGMAS, Truth, is_told

# The share of the samples that `move` moves.
MOVED = 0.3
# The kinds, what each does, and the kinds of cases that it spoils.
KINDS = {
    "drop": ("leave out 1 % of the events of every row, at least one", ("alloc", "calls", "locks", "lifetimes")),
    "move": ("move three tenths of all samples from the method with most to the one with least", ("cpu", "wall")),
    "swap": ("exchange the method with most and the one with least", ("alloc", "calls", "locks", "lifetimes", "answers")),
    "unit": ("state every value in the next larger unit, a thousandth of it", ("answers",)),
    "silence": ("print no row", ("answers",)),
    "state": ("call parked threads sleeping, and sleeping ones parked", ("wall",)),
    "edge": ("change one reference of the heap dump to refer to another object", ("heap",)),
    "deny": ("leave out every leak suspect", ("leaks",)),
    "alarm": ("suspect a leak where there is none", ("leaks",)),
    "accept": ("call each broken file sound", ("conformance",)),
    "refuse": ("call each sound file broken", ("conformance",)),
}


def spoil(kind: str, answer: Answer, known: list[Truth]) -> bool:
    """Spoils the answer in place; returns True if there was something to spoil, which must then be found."""
    return {"drop": drop, "move": move, "swap": swap, "state": state, "unit": unit, "silence": silence}[kind](answer, known)


def drop(answer: Answer, known: list[Truth]) -> bool:
    # A share of 1 % less of everything is the same share, and what is estimated or rounded may be off by as much.
    exact = answer.says - set(SHARES) - set(answer.per_sample) - set(answer.rounding)
    for row in answer.rows:
        for name, value in row.values.items():
            row.values[name] = value - (max(math.ceil(value / 100), 1) if value else 0)
    return any(truth.value in exact and truth.low == truth.high > 0 and is_told(truth, answer) for truth in known)


def methods_of(known: list[Truth]) -> set[str]:
    return {truth.where for truth in known if truth.where != "-" and not truth.where.startswith("thread:")}


def owner_of(stack: tuple[str, ...], methods: set[str]) -> str | None:
    return next((method for method in stack if method in methods), None)


def ranked(answer: Answer, methods: set[str], value: str) -> list[tuple[str, float]]:
    """Returns the methods with what each has of the value, the most first."""
    totals = dict.fromkeys(sorted(methods), 0.0)
    for row in answer.rows:
        owner = owner_of(row.stack, methods)
        if owner is not None:
            totals[owner] += row.values.get(value, 0)
    return sorted(totals.items(), key=lambda item: -item[1])


def move(answer: Answer, known: list[Truth]) -> bool:
    methods = methods_of(known)
    value = known[0].value
    order = ranked(answer, methods, value)
    if len(order) < 2 or not order[0][1]:
        return False
    (most, _), (least, _) = order[0], order[-1]
    total = sum(count for _, count in order)
    wanted = left = MOVED * total
    for row in answer.rows:
        if owner_of(row.stack, methods) == most and value in row.values:
            part = min(left, row.values[value])
            row.values[value] -= part
            left -= part
    answer.rows.append(Row(stack=(least,), values={value: wanted - left}))
    # Of many methods, each may have less than was to be moved.
    of_value = [truth for truth in known if truth.value == value]
    share = max(truth.low for truth in of_value if truth.where == most) / sum(truth.low for truth in of_value)
    return is_sure((wanted - left) / total, share, total / answer.per_sample[value])


def is_sure(moved: float, share: float, samples: float) -> bool:
    """Returns True unless chance could make up for what was moved of a share."""
    return SHARE_FLOOR + (SIGMAS + 4) * math.sqrt(share * (1 - share) / samples) < moved


def state(answer: Answer, known: list[Truth]) -> bool:
    """Exchanges two states of threads."""
    if "state" not in answer.says:
        return False
    exchange = {"parked": "sleeping", "sleeping": "parked"}
    samples = 0.0
    for row in answer.rows:
        samples += row.values.get("state", 0) if owner_of(row.stack, methods_of(known)) else 0
        row.type = exchange.get(row.type or "", row.type)
    of_state = [truth for truth in known if truth.value == "state"]
    units = sum(truth.low for truth in of_state)
    shares = [truth.low / units for truth in of_state if truth.type in exchange]
    return any(is_sure(share, share, samples / answer.per_sample["state"]) for share in shares)


def swap(answer: Answer, known: list[Truth]) -> bool:
    """Exchanges, of the value that most methods have, the methods with most and with least."""
    counts: dict[str, dict[str, float]] = {}
    for truth in known:
        if truth.value in answer.says and truth.where in methods_of(known) and is_told(truth, answer):
            of_value = counts.setdefault(truth.value, {})
            said = sum(row.values.get(truth.value, 0) for row in answer.rows if truth.matches(row))
            of_value[truth.where] = of_value.get(truth.where, 0) + said
    most_methods = max(counts.values(), key=len, default={})
    order = sorted(most_methods, key=lambda method: most_methods[method])
    if len(order) < 2 or most_methods[order[-1]] < 2 * most_methods[order[0]]:
        return False
    value = next(name for name, methods in counts.items() if methods is most_methods)
    weight = answer.per_sample.get(value, 0)
    if weight and most_methods[order[-1]] - most_methods[order[0]] < (SIGMAS + 4) * weight * math.sqrt(most_methods[order[-1]] / weight):
        return False
    exchange = {order[0]: order[-1], order[-1]: order[0]}
    for row in answer.rows:
        row.stack = tuple(exchange.get(method, method) for method in row.stack)
    return True


def unit(answer: Answer, known: list[Truth]) -> bool:
    """Divides every value by a thousand."""
    for row in answer.rows:
        row.values = {name: value / 1_000 for name, value in row.values.items()}
    return any(can_be_missed(truth, answer) for truth in known)


def silence(answer: Answer, known: list[Truth]) -> bool:
    answer.rows = []
    return any(can_be_missed(truth, answer) for truth in known)


def can_be_missed(truth: Truth, answer: Answer) -> bool:
    """Returns True if it is said, is not a share, and is too much for chance to have hidden it."""
    if truth.value not in answer.says or truth.value in SHARES:
        return False
    weight = answer.per_sample.get(truth.value, 0)
    allowed = SIGMAS * weight * math.sqrt(max(truth.high / weight, 1)) if weight else answer.rounding.get(truth.value, 0)
    return truth.low > 1.1 * allowed
