"""Holds what tools suspect to be leaks to what programs say of themselves."""

from __future__ import annotations

import dataclasses

from .truths import Finding

# A suspect may be told by the classes of which it keeps most: so many of them.
CLASSES = 3


@dataclasses.dataclass(frozen=True)
class Suspect:
    """Something that a tool suspects."""

    # Texts with the names of classes: of the suspect, of what holds it, of what it keeps most of.
    names: tuple[str, ...]
    # Its share of the live heap, if the tool says so.
    share: float = 0.0

    def has(self, name: str) -> bool:
        """Returns True if a text has the class, and not only one whose name begins with it."""
        for text in self.names:
            at = text.find(name)
            while at >= 0:
                following = text[at + len(name) : at + len(name) + 1]
                if not (following.isalnum() or following in ("$", "_")):
                    return True
                at = text.find(name, at + 1)
        return False

    def __str__(self) -> str:
        return " / ".join(self.names[:2]) + (f" ({self.share:.0%})" if self.share else "")


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
