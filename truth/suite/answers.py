"""The form into which each tool's output is brought, so that all are held to the same truth.

The names of values are those of `truth/README.md`.
"""

from __future__ import annotations

import dataclasses
import pathlib


@dataclasses.dataclass
class Row:
    """A tool's values for one stack (innermost method first), one class and one thread; None if it does not say which."""

    stack: tuple[str, ...] = ()
    type: str | None = None
    thread: str | None = None
    values: dict[str, float] = dataclasses.field(default_factory=dict)


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


@dataclasses.dataclass
class Answer:
    """A tool's answer to one run of a case."""

    rows: list[Row] = dataclasses.field(default_factory=list)
    # The values that it states, be it as 0.
    says: frozenset[str] = frozenset()
    # Of values that are estimates from samples: what one sample stands for, in units of the value.
    per_sample: dict[str, float] = dataclasses.field(default_factory=dict)
    # Of values that are rounded: the most by which each row may be off.
    rounding: dict[str, float] = dataclasses.field(default_factory=dict)
    # The rows carry stacks, and threads; otherwise a truth about a method, or a thread, is one that the tool does not tell.
    has_stacks: bool = True
    has_threads: bool = False
    dump: pathlib.Path | None = None
    suspects: list[Suspect] = dataclasses.field(default_factory=list)


class CannotRun(Exception):
    """A tool is not there, or has nothing to say of this kind on this JVM: the reason, in a few words."""
