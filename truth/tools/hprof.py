"""This project's agent and command: `libhprof.so` and `hprof`."""

import json
import re

from suite import conformance, leaks, runs
from suite.answers import Answer, CannotRun, Row

NAME = "hprof"
SAYS = {
    "cpu": {"cpu"},
    "alloc": {"objects", "bytes", "live_objects", "live_bytes"},
    "calls": {"calls", "self"},
    "locks": {"contentions", "contended_ns", "lock_ns", "waits", "waited_ns"},
    "wall": {"wall", "state", "awake"},
    "lifetimes": {"temporary_objects", "survived_objects", "live_objects", "older_than_2s"},
}
# The values of `hprof export --to json`, by their names here.
METRICS = {
    "cpu": "cpu", "alloc-objects": "objects", "alloc-bytes": "bytes", "live-objects": "live_objects", "live-bytes": "live_bytes",
    "calls": "calls", "time": "self", "contentions": "contentions", "contention": "contended_ns", "lock-wait": "lock_ns",
    "wall": "wall", "temporary-objects": "temporary_objects", "survived-objects": "survived_objects",
}  # fmt: skip
WAITED = re.compile(r"^WAITED: MONITOR L([^;]+);, time_waited=(\d+), ", re.M)
# LOCK WAITS are looked at so often, in ns.
LOOK = 10_000_000
# The time that a wall-clock sample stands for, in ns.
WALL = 20_000_000
STATE = re.compile(r"^java\.lang\.Thread\.<(\w+)>$")


def find(places):
    for path in (places.agent, places.cli):
        if not path.exists():
            raise CannotRun(f"{path} is missing; build it with `cargo build --release --workspace`, or set HPROF_AGENT and HPROF_CLI")


def version(places):
    return runs.call(places.cli, "--version").split()[-1]


def file(run):
    return run.folder / ("out.hprof.txt" if run.case.kind in ("calls", "locks") else "out.hprof")


def arguments(run):
    return [f"-agentpath:{run.places.agent}={run.options},verbose=n,file={file(run)}"]


def at_ready(run, pid):
    # At the end no frame is left whose variables could be seen.
    if run.case.kind in ("heap", "leaks"):
        runs.call(run.places.cli, "dump", "--yes", pid)


def answer(run):
    kind = run.case.kind
    path = file(run)
    if kind == "heap":
        return Answer(dump=path)
    if kind == "leaks":
        return Answer(suspects=suspects(run))
    profile = json.loads(runs.call(run.places.cli, "export", "--to", "json", path))
    answer = Answer(rows(profile), frozenset(SAYS[kind]))
    if kind == "cpu":
        answer.per_sample = {"cpu": 1}
    elif kind == "wall":
        answer.rows = [row for of_wall in answer.rows for row in states(of_wall)]
        answer.per_sample = dict.fromkeys(SAYS["wall"], 1)
    elif kind == "lifetimes":
        answer.rows += older(run)
    elif kind == "alloc":
        answer.has_threads = True
        sampled = re.search(r"sample=(\d+)k", run.options)
        if sampled:
            answer.per_sample = dict.fromkeys(("bytes", "live_bytes"), int(sampled[1]) * 1024)
    elif kind == "locks":
        answer.per_sample = {"lock_ns": LOOK}
        # The text says in whole milliseconds how long a wait took, and how long all of a row took together.
        answer.rounding = {"waited_ns": 1_000_000, "contended_ns": 1_000_000}
        for name, millis in WAITED.findall(path.read_text(errors="replace")):
            answer.rows.append(Row(type=name.replace("/", "."), values={"waits": 1, "waited_ns": int(millis) * 1_000_000}))
    return answer


def rows(profile):
    names = profile["names"]
    frames = [".".join(part for part in (names[frame[0]], names[frame[1]]) if part) for frame in profile["frames"]]
    stacks = [tuple(frames[index] for index in stack) for stack in profile["stacks"]]
    labels = profile["labels"]
    found = []
    for table in profile["tables"]:
        values = [METRICS.get(value["name"]) for value in table["values"]]
        for stack, label, amounts in table["samples"]:
            known = {name: amount for name, amount in zip(values, amounts, strict=True) if name}
            if not known:
                continue
            label = labels[label] if label is not None else {}
            text = {key: names[label[key]] for key in ("class", "lock", "thread") if key in label}
            found.append(Row(stacks[stack], text.get("class") or text.get("lock"), text.get("thread"), known))
    return found


def states(row):
    """Takes the state from the top of a stack: a row with it, and one that says if the thread had, or could have, a processor."""
    found = STATE.match(row.stack[0]) if row.stack else None
    state = found[1] if found else None
    samples = row.values["wall"] / WALL
    awake = "awake" if state in ("running", "runnable") else "asleep"
    return [Row(row.stack, state, row.thread, {"wall": samples, "state": samples}), Row(row.stack, awake, row.thread, {"awake": samples})]


def older(run):
    """Returns the objects that are at least two seconds old, of each class that is asked for."""
    found = []
    for name in re.findall(r"^truth older_than_2s - (\S+) ", run.output, re.M):
        command = (run.places.cli, "heap", "who", "--older", "2s", "--class", name, "--top", "0", "--json", file(run))
        count = sum(row["objects"] for row in json.loads(runs.call(*command)))
        found.append(Row(type=name, values={"older_than_2s": count}))
    return found


def suspects(run):
    """Returns the suspects of `hprof heap leaks`; what it calls large, but not growing or bounded, is none."""
    said = json.loads(runs.call(run.places.cli, "heap", "leaks", "--waste", "0", "--json", file(run)))
    found = []
    for suspect in said["suspects"]:
        kept = suspect["kept"][: leaks.CLASSES]
        of = [suspect.get(part, {}).get("class", "") for part in ("piling", "elements")]
        names = [suspect["what"], suspect["holder"], *of, *(row["class"] for row in kept)]
        found.append(leaks.Suspect(tuple(filter(None, names)), suspect["retained"] / said["live_bytes"]))
    # Loaders that pile up are said apart, however little they retain.
    found += [leaks.Suspect((loaders["class"], loaders["loaded"])) for loaders in said["piling_loaders"]]
    return found


def retained(run, name):
    """Returns the retained size of each object of a class."""
    command = (run.places.cli, "heap", "retained", "--by", "object", "--class", name, "--top", "0", "--json", file(run))
    return {int(row["id"], 16): row["retained"] for row in json.loads(runs.call(*command))}


def verdict(path, run):
    """Says what `hprof check` says of a file."""
    done = conformance.command(run.places.cli, "check", path)
    if isinstance(done, conformance.Verdict):
        return done
    if done.returncode == 1:
        return conformance.Verdict("broken", done.stderr.strip())
    if done.returncode:
        return conformance.Verdict("failed", f"exit status {done.returncode}: {done.stderr.strip()[:160]}")
    counts = dict((kind, int(count)) for count, kind in re.findall(r"^ *(\d+) +([A-Z ]+?)(?: \(.*\))?$", done.stdout, re.M))
    primitive = counts.get("PRIMITIVE ARRAY DUMP", 0) + counts.get("PRIMITIVE ARRAY NODATA DUMP", 0)
    return conformance.Verdict("sound", "", (counts.get("INSTANCE DUMP", 0), counts.get("OBJECT ARRAY DUMP", 0), primitive))
