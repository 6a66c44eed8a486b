"""Holds what tools suspect to be leaks to what programs say of themselves."""

from __future__ import annotations

from .answers import Suspect
from .truths import Finding

# A suspect may be told by the classes of which it keeps most: so many of them.
CLASSES = 3


def compare(facts: list[tuple[str, str]], suspects: list[Suspect]) -> list[Finding]:
    """Returns whether the leak is named, and whether anything else is suspected, or anything at all where nothing leaks."""
    name, *classes = next(rest for kind, rest in facts if kind == "leak").split()
    said = "; ".join(map(str, suspects)) or "none"
    if not classes:
        return [Finding(f"suspects of {name}", "none", said, None, not suspects)]
    found = any(suspect.has(each) for suspect in suspects for each in classes)
    return [Finding(f"leak {name}", classes[0], said, None, found)]


def spoil(kind: str, suspects: list[Suspect], facts: list[tuple[str, str]]) -> tuple[bool, list[Suspect]]:
    """Returns if there is something to spoil, and the spoiled suspects."""
    _, *classes = next(rest for fact, rest in facts if fact == "leak").split()
    if kind == "deny":
        return bool(classes), []
    return not classes, [*suspects, Suspect(("java.util.HashMap",))]
