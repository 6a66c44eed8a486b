"""Compares what a tool says with the truth."""

from __future__ import annotations

import dataclasses
import math
import re

from .answers import Answer, Row

# An estimate is wrong if it is off by more than this many standard errors of its number of samples. By chance, that
# happens once in some 500 million comparisons.
SIGMAS = 6
# What a profiler's own work may add or hide in a share, whatever the number of samples.
SHARE_FLOOR = 0.02
# Shares of self time come from clocks and not from samples, and hooks take time too.
SELF_FLOOR = 0.05
# The least part of all CPU samples that must be in methods of the program: the rest is the VM's start and its clocks.
NAMED = 0.7

SHARES = ("cpu", "self", "wall", "state", "awake")
# A change of shares between two programs.
CHANGE = "change"
# Values of the innermost method alone, and not of those that called it.
INNERMOST = ("self", "calls")
# An estimate that rests on fewer expected samples is not called right: chance alone could have made it so.
FEW = 10
# What tells the size of the objects that a value counts.
SIZED = {"objects": "bytes", "live_objects": "live_bytes"}
SMALLEST_OBJECT = 16
LINE = re.compile(r"^truth (\S+) (\S+) (\S+) (\d+)(?: (\d+))?$", re.M)


@dataclasses.dataclass(frozen=True)
class Truth:
    """One known number: of a value, at a method or in a thread (`thread:NAME`), of a class; `-` stands for any."""

    value: str
    where: str
    type: str
    low: int
    high: int

    def __str__(self) -> str:
        names = [name for name in (self.where, self.type) if name != "-"]
        return " ".join([self.value, *names])

    def matches(self, row: Row) -> bool:
        """Returns True if the row is part of it."""
        if self.where.startswith("thread:"):
            if row.thread != self.where[len("thread:") :]:
                return False
        elif self.where != "-" and self.where not in (row.stack[:1] if self.value in INNERMOST else row.stack):
            return False
        if self.type.endswith("*"):
            return (row.type or "").startswith(self.type[:-1])
        return self.type in ("-", row.type)


@dataclasses.dataclass
class Finding:
    """One truth, and what a tool says of it; `answer` is None if it does not say."""

    what: str
    truth: str
    answer: str | None
    # None if the tool does not say, or states no number.
    error: float | None
    right: bool | None
    # What deviation would not be called wrong, in the error's unit.
    allowed: float = 0.0
    note: str = ""
    # The answer is a measurement, which nothing says to be right or wrong.
    measured: bool = False


def parse(output: str) -> list[Truth]:
    """Returns the truths that a program has printed."""
    found = []
    for value, where, kind, low, high in LINE.findall(output):
        found.append(Truth(value, where, kind, int(low), int(high or low)))
    return found


def compare(truths: list[Truth], answer: Answer) -> list[Finding]:
    """Returns a finding for each truth."""
    findings = []
    for value in dict.fromkeys(truth.value for truth in truths):
        of_value = [truth for truth in truths if truth.value == value]
        if value not in answer.says:
            findings += [unsaid(truth) for truth in of_value]
        elif value in SHARES:
            findings += shares(of_value, answer)
        else:
            findings += [amount(truth, answer, truths) for truth in of_value]
    return findings


def is_told(truth: Truth, answer: Answer) -> bool:
    """Returns True unless the truth is about a method, or a thread, and the tool does not tell them."""
    if truth.where.startswith("thread:"):
        return answer.has_threads
    return truth.where == "-" or answer.has_stacks


def unsaid(truth: Truth) -> Finding:
    span = f"{truth.low}" if truth.low == truth.high else f"{truth.low}..{truth.high}"
    return Finding(str(truth), span, None, None, None)


def weight_of(truth: Truth, answer: Answer, truths: list[Truth]) -> float:
    """Returns what one sample stands for; 0 if the value is not an estimate."""
    weight = answer.per_sample.get(truth.value, 0)
    sized = SIZED.get(truth.value)
    if weight or sized not in answer.per_sample:
        return weight
    # Samples are taken by bytes, so one stands for more objects the smaller they are.
    sizes = [
        other.low / truth.low
        for other in truths
        if truth.low and (other.value, other.where, other.type) == (sized, truth.where, truth.type)
    ]
    return answer.per_sample[sized] / (sizes[0] if sizes else SMALLEST_OBJECT)


def amount(truth: Truth, answer: Answer, truths: list[Truth]) -> Finding:
    """Compares a number that is stated, or estimated from samples."""
    finding = unsaid(truth)
    if not is_told(truth, answer):
        return finding
    rows = [row for row in answer.rows if truth.matches(row)]
    said = sum(row.values.get(truth.value, 0) for row in rows)
    middle = (truth.low + truth.high) / 2
    weight = weight_of(truth, answer, truths)
    off = max(truth.low - said, said - truth.high, 0)
    allowed = 0.0
    if weight:
        # The number of samples in a site is that of a Poisson process.
        allowed = SIGMAS * weight * math.sqrt(max(truth.high / weight, 1))
    elif truth.value in answer.rounding:
        allowed = answer.rounding[truth.value] * max(len(rows), 1)
    finding.answer = f"{said:.0f}"
    finding.error = (said - min(max(said, truth.low), truth.high)) / middle if middle else float(said != 0)
    finding.allowed = allowed / middle if middle else allowed
    finding.right = off <= allowed
    if weight and finding.right and truth.high < FEW * weight:
        finding.right = finding.error = None
        finding.note = f"{truth.high / weight:.2g} samples expected"
    return finding


def shares(truths: list[Truth], answer: Answer) -> list[Finding]:
    """Compares how one whole is divided; a row belongs to the innermost method of its stack that is known."""
    value = truths[0].value
    names = {truth.where for truth in truths}
    counts = dict.fromkeys(truths, 0.0)
    named = unnamed = 0.0
    for row in answer.rows:
        amount = row.values.get(value, 0)
        stack = row.stack[:1] if value in INNERMOST else row.stack
        owner = next((method for method in stack if method in names), None)
        if owner is None:
            unnamed += amount
            continue
        named += amount
        for truth in truths:
            if truth.where == owner and truth.type in ("-", row.type):
                counts[truth] += amount
    units = sum(truth.low for truth in truths)
    per_sample = answer.per_sample.get(value, 0)
    samples = named / per_sample if per_sample else 0
    findings = []
    for truth in truths:
        expected = truth.low / units
        said = counts[truth] / named if named else 0.0
        allowed = SELF_FLOOR if value == "self" else SHARE_FLOOR
        if samples:
            allowed += SIGMAS * math.sqrt(max(expected * (1 - expected), 1 / samples) / samples)
        finding = Finding(str(truth), f"{expected:.3f}", f"{said:.3f}", said - expected, abs(said - expected) <= allowed, allowed)
        if value == "cpu" and named < NAMED * (named + unnamed):
            finding.right = False
            finding.note = f"only {named / (named + unnamed or 1):.0%} of the samples are in the program's methods"
        elif samples:
            finding.note = f"{samples:.0f} samples"
        findings.append(finding)
    return findings


def changes(before: list[Finding], after: list[Finding]) -> list[Finding]:
    """Compares how the shares of two programs differ: what a change in one method must show."""
    findings = []
    for old, new in zip(before, after, strict=True):
        expected = float(new.truth) - float(old.truth)
        said = float(new.answer or 0) - float(old.answer or 0)
        allowed = (old.allowed**2 + new.allowed**2) ** 0.5
        what = f"{CHANGE} {new.what.partition(' ')[2]}"
        findings.append(Finding(what, f"{expected:+.3f}", f"{said:+.3f}", said - expected, abs(said - expected) <= allowed, allowed))
    return findings


def distance(findings: list[Finding]) -> float | None:
    """Returns one number for a case: of shares, half the sum of the differences; otherwise the largest relative error."""
    errors = [finding.error for finding in findings if finding.error is not None]
    if not errors:
        return None
    kinds = {finding.what.split()[0] for finding in findings if finding.error is not None}
    if kinds <= {*SHARES, CHANGE}:
        # Several values are several wholes.
        return sum(abs(error) for error in errors) / 2 / len(kinds)
    return max(abs(error) for error in errors)
