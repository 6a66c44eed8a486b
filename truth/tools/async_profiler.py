"""async-profiler, from Maven Central (`scripts/fetch truth` puts it into target/tools)."""

import re

from suite import runs
from suite.answers import Answer, CannotRun, Row

NAME = "async-profiler"
SAYS = {"cpu": {"cpu"}, "alloc": {"bytes"}, "locks": {"contentions", "contended_ns", "lock_waits", "lock_ns"}}
# `--- 5230000000 ns (43.10%), 523 samples`, then `  [ 0] method` lines, innermost first.
BLOCK = re.compile(r"^--- (\d+) (?:ns|bytes|total)? ?\(.*?\), (\d+) samples?\n((?:  \[ ?\d+\] .*\n)*)", re.M)
FRAME = re.compile(r"^  \[ ?\d+\] (.*)$", re.M)
INTERVAL = 512 * 1024


def library(places):
    return places.tools / "libasyncProfiler.so"


def find(places):
    if not library(places).exists():
        raise CannotRun(f"{library(places)} is missing; `scripts/fetch truth` fetches it from Maven Central")


def version(places):
    # The library tells its version only to a program that loads it.
    done = runs.call(places.newest.java, f"-agentpath:{library(places)}=version", "-version")
    found = re.search(r"^(\d+\.\d+)", done)
    return found[1] if found else "?"


def arguments(run):
    # All stacks in full, and no table of methods.
    return [f"-agentpath:{library(run.places)}=start,{run.options},jstackdepth=1024,traces=1000000,flat=0,file={run.folder}/out.txt"]


def answer(run):
    kind = run.case.kind
    answer = Answer(says=frozenset(SAYS[kind]), has_threads="threads" in run.options)
    text = (run.folder / "out.txt").read_text(errors="replace")
    samples = 0
    for total, count, frames in BLOCK.findall(text):
        stack = [name(frame) for frame in FRAME.findall(frames)]
        samples += int(count)
        answer.rows.append(row(kind, stack, int(total), int(count)))
    if kind == "cpu":
        answer.per_sample = {"cpu": 1}
    elif kind == "alloc":
        total = sum(row.values["bytes"] for row in answer.rows)
        answer.per_sample = {"bytes": max(total / samples, 1) if samples else INTERVAL}
    return answer


def name(frame):
    """Returns `java.lang.Thread.run` of `java.lang.Thread.run` or `java/lang/Thread.run_[j]`."""
    return re.sub(r"_\[\w\]$", "", frame).replace("/", ".")


def row(kind, stack, total, count):
    thread = None
    if stack and stack[-1].startswith("["):
        # The outermost frame is the thread, `[main tid=17]`.
        thread = re.sub(r"^\[(.*?)(?: tid=\d+)?\]$", r"\1", stack.pop())
    if kind == "cpu":
        return Row(tuple(stack), None, thread, {"cpu": count})
    # The innermost frame is the class.
    what, *stack = stack
    if kind == "alloc":
        return Row(tuple(stack), what, thread, {"bytes": total})
    is_monitor = not what.startswith("java.util.concurrent")
    values = {"contentions": count, "contended_ns": total} if is_monitor else {"lock_waits": count, "lock_ns": total}
    return Row(tuple(stack), what, thread, values)
