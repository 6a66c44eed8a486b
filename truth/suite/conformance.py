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
    """What a reader says of a file."""

    # `sound`, `broken`, or `failed`: it crashed, hung, or said nothing.
    word: str
    message: str = ""
    # The number of objects of each kind, if it states them: instances, object arrays, primitive arrays.
    objects: tuple[int, int, int] | int | None = None


def command(*words: object) -> subprocess.CompletedProcess | Verdict:
    """Runs a reader; a verdict if it hangs or is ended by a signal."""
    try:
        done = subprocess.run(
            [str(word) for word in words], capture_output=True, text=True, timeout=PATIENCE, env=environment(), errors="replace"
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


def compare(made: list[tuple[corpus.File, pathlib.Path]], verdicts: dict[pathlib.Path, Verdict], spoil: str) -> list[Finding]:
    """Returns a finding for each file of which the reader says something."""
    findings = []
    for file, path in made:
        sound, heap = expected(file, path)
        verdict = verdicts.get(path)
        what = f"{path.stem}: {file.why}"
        truth = {True: "sound", False: "broken", None: "either"}[sound]
        if verdict is None:
            findings.append(Finding(what, truth, None, None, None))
            continue
        word = verdict.word
        if (spoil == "accept" and word == "broken") or (spoil == "refuse" and word == "sound"):
            word = "sound" if spoil == "accept" else "broken"
        right = word == truth or (truth == "either" and word != "failed")
        note = verdict.message if not right else ""
        if right and word == "sound" and truth == "sound" and heap is not None and verdict.objects is not None:
            count = len(heap.instances), len(heap.object_arrays), len(heap.primitive_arrays)
            known = count if isinstance(verdict.objects, tuple) else sum(count)
            if known != verdict.objects:
                right, note = False, f"it counts {verdict.objects} objects instead of {known}"
        findings.append(Finding(what, truth, word, None, right, note=note))
    return findings
