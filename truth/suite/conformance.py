"""Holds readers of HPROF files to the corpus: what they must accept and count, and what they must refuse."""

from __future__ import annotations

import dataclasses
import pathlib
import signal
import subprocess

from . import corpus, dump
from .runs import environment
from .truths import Finding

# A reader that takes longer for some hundred bytes hangs.
PATIENCE = 60


@dataclasses.dataclass
class Verdict:
    """A reader's judgement of a file."""

    # `sound`, `broken`, or `failed`: it crashed, hung, or said nothing.
    word: str
    message: str = ""
    # The number of objects of each kind, if it states them: instances, object arrays, primitive arrays.
    objects: tuple[int, int, int] | int | None = None


def command(*words: object) -> subprocess.CompletedProcess | Verdict:
    """Runs a reader; a verdict if it hangs or is ended by a signal."""
    try:
        done = subprocess.run(
            [str(word) for word in words],
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env=environment(),
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        return Verdict("failed", f"it hung for {PATIENCE} s")
    if done.returncode < 0:
        return Verdict("failed", f"it was ended by {signal.Signals(-done.returncode).name}")
    return done


def expected(file: corpus.File, path: pathlib.Path) -> tuple[bool | None, dump.Heap | None]:
    """Checks what was written with the suite's own reader, which must agree with the description."""
    try:
        heap = dump.read(path)
    except dump.Broken as fault:
        if file.is_sound:
            raise AssertionError(f"{path.name}: described as sound, but {fault}") from fault
        return file.is_sound, None
    if file.is_sound is False:
        raise AssertionError(f"{path.name}: described as broken ({file.why}), but the suite's reader finds no fault")
    return file.is_sound, heap


@dataclasses.dataclass(frozen=True)
class Scope:
    """The files that a reader is made for, by `options.ini`."""

    # It states that a file is sound. Others need not find a fault, but must not crash or hang.
    checks: bool
    # It reads files without a heap dump, and compressed ones.
    profiles: bool
    gzip: bool
    versions: tuple[str, ...]

    def has(self, path: pathlib.Path) -> bool:
        """Returns True if the reader is made for such a file."""
        data = path.read_bytes()
        if data[:2] == b"\x1f\x8b":
            if not self.gzip:
                return False
        elif data[13:18].decode("latin-1") in dump.VERSIONS and data[13:18].decode("latin-1") not in self.versions:
            return False
        if self.profiles:
            return True
        try:
            return bool(dump.read(path).records.keys() & {0x0C, 0x1C})
        except dump.Broken:
            # Whatever it is, it must not crash a reader.
            return True


def compare(
    made: list[tuple[corpus.File, pathlib.Path]], verdicts: dict[pathlib.Path, Verdict], scope: Scope, spoil: str = ""
) -> list[Finding]:
    """Returns a finding for each file; those that a reader is not made for are not said."""
    findings = []
    for file, path in made:
        sound, heap = expected(file, path)
        verdict = verdicts.get(path)
        what = f"{path.stem}: {file.why}"
        truth = {True: "sound", False: "broken", None: "either"}[sound]
        if verdict is None or not scope.has(path):
            findings.append(Finding(what, truth, None, None, None))
            continue
        word = verdict.word
        if (spoil == "accept" and word == "broken") or (spoil == "refuse" and word == "sound"):
            word = "sound" if spoil == "accept" else "broken"
        right = word == truth or (truth == "either" and word != "failed")
        if truth == "broken" and word == "sound" and not scope.checks:
            findings.append(Finding(what, truth, None, None, None))
            continue
        note = verdict.message if not right else ""
        if right and word == "sound" and truth == "sound" and heap is not None and verdict.objects is not None:
            count = tuple(sum(heap.sub_records.get(tag, 0) for tag in tags) for tags in ((0x21,), (0x22,), (0x23, 0xC3)))
            known = count if isinstance(verdict.objects, tuple) else sum(count)
            if known != verdict.objects:
                right, note = False, f"it counts {verdict.objects} objects instead of {known}"
        findings.append(Finding(what, truth, word, None, right, note=note))
    return findings
