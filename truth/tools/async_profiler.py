"""async-profiler, from Maven Central (`scripts/fetch truth` puts it into target/tools)."""

import json
import re

from suite import runs
from suite.answers import Answer, CannotRun, Row

from . import jfr

NAME = "async-profiler"
SAYS = {
    "cpu": {"cpu"},
    "alloc": {"bytes"},
    "locks": {"contentions", "contended_ns", "lock_waits", "lock_ns"},
    "wall": {"wall", "awake"},
}
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
    # Only recordings have the states of threads. In text: all stacks in full, and no table of methods.
    form = "jfr,file=out.jfr" if run.case.kind == "wall" else "traces=1000000,flat=0,file=out.txt"
    form = form.replace("file=", f"file={run.folder}/")
    return [f"-agentpath:{library(run.places)}=start,{run.options},jstackdepth=1024,{form}"]


def answer(run):
    kind = run.case.kind
    answer = Answer(says=frozenset(SAYS[kind]), has_threads="threads" in run.options)
    if kind == "wall":
        answer.rows = wall(run)
        answer.per_sample = {"wall": 1, "awake": 1}
        return answer
    is_live = run.mode == "live"
    if is_live:
        answer.says = frozenset({"live_bytes"})
    text = (run.folder / "out.txt").read_text(errors="replace")
    samples = 0
    for total, count, frames in BLOCK.findall(text):
        stack = [name(frame) for frame in FRAME.findall(frames)]
        samples += int(count)
        # Of live objects the total is the size of those that were sampled, of which there is one in an interval.
        answer.rows.append(row(kind, stack, int(count) * INTERVAL if is_live else int(total), int(count)))
    if kind == "cpu":
        answer.per_sample = {"cpu": 1}
    elif kind == "alloc":
        value = next(iter(answer.says))
        for each in answer.rows:
            each.values = {value: each.values["bytes"]}
        total = sum(each.values[value] for each in answer.rows)
        answer.per_sample = {value: max(total / samples, 1) if samples else INTERVAL}
    return answer


def wall(run):
    """Reads wall-clock samples with the JDK's `jfr print`; a thread sleeps, or it has or wants a processor."""
    command = (run.places.newest.command("jfr"), "print", "--json", "--stack-depth", "1024")
    said = runs.call(*command, "--events", "profiler.WallClockSample", run.folder / "out.jfr")
    rows = []
    for event in json.loads(said)["recording"]["events"]:
        values = event["values"]
        stack = tuple(jfr.frame_name(frame) for frame in (values.get("stackTrace") or {}).get("frames", ()))
        state = "asleep" if values["state"] == "STATE_SLEEPING" else "awake"
        rows.append(Row(stack, state, None, dict.fromkeys(("wall", "awake"), values["samples"])))
    return rows


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
