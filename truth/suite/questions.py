"""The questions of README's table: each is asked of a program whose right answer is known, and every way in which a user reads
the answer is held to it."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import json
import pathlib
import re
import subprocess
import threading
import typing

from . import runs, truths
from .answers import Answer, CannotRun, Row
from .truths import Truth

# The files of `truth/views`, which read the exports of a profile.
EXPORTS = ["json_export", "pprof", "speedscope", "firefox", "otlp", "jfr_export", "parquet"]
# The values of profiles that exports have.
VALUES = frozenset({
    "cpu", "cpu_ns", "wall_ns", "lock_ns", "held_ns", "contended_ns", "contentions", "calls", "objects", "bytes", "live_objects",
    "live_bytes", "temporary_objects", "temporary_bytes",
})  # fmt: skip
# What a view does not have, by its name: it is neither right nor wrong.
LACKS = {
    # Stacks with numbers, and no labels.
    "speedscope": {"held_ns"},
    "firefox": {"held_ns"},
    # Lifetimes have a table of another form, and samples are counted.
    "parquet": {"temporary_objects", "temporary_bytes"},
    "jfr": {"cpu_ns"},
}
# Samples of a clock are regular: in one stretch of time their number is off by one or two, and not by its square root.
REGULAR = 10
UNLABELLED = ("speedscope", "firefox")
# The agent's samples are this far apart, in ns.
INTERVALS = {"cpu_ns": 10_000_000, "wall_ns": 20_000_000, "lock_ns": 10_000_000, "held_ns": 10_000_000, "state_ns": 20_000_000}


@dataclasses.dataclass
class View:
    """An answer as one view shows it, and the truths that this view can show."""

    name: str
    answer: Answer
    known: list[Truth]


def ask(run: runs.Run) -> typing.Iterator[View]:
    """Asks all questions of a case."""
    for question in run.case.asks:
        run.folder.joinpath(question).mkdir()
        of_question = dataclasses.replace(run, folder=run.folder / question)
        yield from QUESTIONS[question](of_question, question)


# The programs.


def java(run: runs.Run, *arguments: str) -> list[str]:
    options = [f"-Dtruth.layout={run.places.layout(run.jvm)}", f"-Dtruth.scale={run.places.scale}"]
    return [str(run.jvm.java), "-Xmx512m", *run.case.vm, *options, "-cp", str(run.places.classes), run.case.program, *arguments]


@dataclasses.dataclass
class Recording:
    """What `hprof record` left, and what it said."""

    known: list[Truth]
    said: str
    file: pathlib.Path


def record(run: runs.Run, what: str, *arguments: str, name: str = "") -> Recording:
    folder = run.folder / (name or "recording")
    folder.mkdir()
    words = [run.places.cli, "record", "--agent", run.places.agent, "-d", folder, what, "--", *java(run, *arguments)]
    done = subprocess.run(
        [str(word) for word in words], capture_output=True, text=True, timeout=runs.TIMEOUT, env=runs.environment(), cwd=folder
    )
    found = re.search(r"^profile: (.+) \(", done.stderr, re.M)
    if not found:
        raise CannotRun(f"hprof record {what} names no profile: {done.stderr[-200:]!r}")
    return Recording(truths.parse(done.stdout), done.stderr, folder / pathlib.Path(found[1]).name)


@contextlib.contextmanager
def waiting(run: runs.Run) -> typing.Iterator[subprocess.Popen]:
    """Runs the program with the argument `stays`, in which it waits for lines on its input."""
    command = java(run, "stays")
    if run.jvm.feature >= 21:
        command.insert(1, "-XX:+EnableDynamicAgentLoading")
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=runs.environment(), cwd=run.folder)
    timer = threading.Timer(runs.TIMEOUT, process.kill)
    timer.start()
    try:
        yield process
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stdout.close()
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()


def until_ready(process: subprocess.Popen) -> None:
    for line in process.stdout:
        if line == "ready\n":
            return
    raise CannotRun("the program ended before it was ready")


def go_on(process: subprocess.Popen) -> None:
    process.stdin.write("\n")
    process.stdin.flush()


# What is read on the terminal.

UNITS = {
    "ns": 1, "µs": 1e3, "us": 1e3, "ms": 1e6, "s": 1e9, "min": 60e9, "h": 3_600e9, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "": 1,
}  # fmt: skip
CELL = r"([+-]?[\d,]*\.?\d+)(?: (ns|µs|us|ms|s|min|h|B|KB|MB|GB))?"
# Of the answer of `hprof record`: own cost, its share, the share with what is called, name.
ANSWER_ROW = re.compile(rf"^ +{CELL} +[\d.]+ +[\d.]+  (\S.*)$")
ANSWER_HEAD = re.compile(r"^ +self +% +total %  (.+)$")
# Of `hprof top`: own cost, perhaps its samples, its share, cost with what is called, its share, a bar, name.
TOP_ROW = re.compile(rf"^ *{CELL}(?:  +[\d,]+)?  +[\d.]+  +{CELL}  +[\d.]+ +[█▏▎▍▌▋▊▉]* +(\S.*)$")
WAIT = re.compile(r"^(\S+), while (\S+)(?: \(called by .+\))? held (\S+?)(?:@\w+)?$")


def amount(number: str, unit: str | None) -> float:
    return float(number.replace(",", "")) * UNITS[unit or ""]


def rounding_of(number: str, unit: str | None) -> float:
    """Returns the most by which a number that is printed like this may be off."""
    digits = len(number.partition(".")[2])
    return 0.51 * 10**-digits * UNITS[unit or ""] if unit not in (None, "B") else 0


def of_terminal(text: str, value: str) -> Answer:
    """Reads the tables at the end of a recording. A table of the program's own code comes before one of all code."""
    answer = Answer(says=frozenset({value, *(("state_ns",) if value == "wall_ns" else ()), *(("held_ns",) if value == "lock_ns" else ())}))
    head, has_own = "", "method of your code" in text
    for line in text.splitlines():
        if found := ANSWER_HEAD.match(line):
            head = found[1]
        elif not (found := ANSWER_ROW.match(line)) or (has_own and head == "method"):
            continue
        else:
            number, unit, name = found.groups()
            said = amount(number, unit)
            answer.rounding[value] = max(answer.rounding.get(value, 0), rounding_of(number, unit))
            if head == "state":
                answer.rows.append(Row((), name, None, {"state_ns": said}))
            elif waits := WAIT.match(name):
                answer.rows.append(Row((waits[1],), waits[3], None, {value: said}))
                answer.rows.append(Row((waits[2],), None, None, {"held_ns": said}))
            else:
                answer.rows.append(Row((name,), None, None, {value: said}))
    return answer


def of_top(run: runs.Run, file: pathlib.Path, option: str, value: str, *more: str) -> Answer:
    """Reads the table that `hprof top` prints."""
    text = runs.call(run.places.cli, "top", "-n", "0", "--by", "method", "--value", option, *more, file)
    answer = Answer(says=frozenset({value}))
    for line in text.splitlines():
        if found := TOP_ROW.match(line):
            *_, number, unit, name = found.groups()
            answer.rounding[value] = max(answer.rounding.get(value, 0), rounding_of(number, unit))
            answer.rows.append(Row((name,), None, None, {value: amount(number, unit)}))
    return answer


def of_top_json(run: runs.Run, file: pathlib.Path, option: str, value: str, *more: str) -> Answer:
    said = json.loads(runs.call(run.places.cli, "top", "-n", "0", "--json", "--by", "method", "--value", option, *more, file))
    factor = factor_of(said) if value.endswith("_ns") else 1
    return Answer([Row((row["name"],), None, None, {value: row["total"] * factor}) for row in said["rows"]], frozenset({value}))


def without_types(known: list[Truth]) -> list[Truth]:
    return [dataclasses.replace(truth, type="-") for truth in known]


def sampled(answer: Answer, interval: dict[str, float] | None = None) -> Answer:
    """Says what one sample of the values stands for that are estimates."""
    answer.per_sample = {value: INTERVALS[value] / REGULAR for value in answer.says & INTERVALS.keys()}
    if "cpu" in answer.says:
        answer.per_sample["cpu"] = INTERVALS["cpu_ns"]
    answer.per_sample.update(interval or {})
    return answer


# The questions.


def exported(run: runs.Run, file: pathlib.Path, known: list[Truth]) -> typing.Iterator[View]:
    """Every export of a profile, read by the viewer that it is for. What is in JSON must be in the others, to the last digit."""
    reference: Answer | None = None
    for module in (importlib.import_module(f"views.{name}") for name in EXPORTS):
        try:
            module.find(run.places)
        except CannotRun as reason:
            runs.note(f"    {module.NAME}: {reason}")
            continue
        answer = Answer(module.read(run, file), VALUES - LACKS.get(module.NAME, set()))
        seen = without_types(known) if module.NAME in UNLABELLED else known
        yield View(module.NAME, sampled(answer, {"cpu": 1} if module.NAME == "jfr" else None), seen)
        if reference is None:
            reference = answer
            continue
        same = [same_as(reference, truth) for truth in seen if truth.value in answer.says and truth.value != "cpu"]
        yield View(f"{module.NAME} as json", Answer(answer.rows, answer.says), same)


def same_as(answer: Answer, truth: Truth) -> Truth:
    said = round(sum(row.values.get(truth.value, 0) for row in answer.rows if truth.matches(row)))
    return dataclasses.replace(truth, low=said, high=said)


# Of each word of `hprof record`: the value that `hprof top` is asked for, and the name of the truth.
RECORDED = {
    "cpu": ("cpu", "cpu_ns"),
    "wall": ("wall", "wall_ns"),
    "locks": ("lock-wait", "lock_ns"),
    "alloc": ("alloc-bytes", "bytes"),
    "calls": ("calls", "calls"),
}


def recorded(run: runs.Run, word: str) -> typing.Iterator[View]:
    """`hprof record WORD`: what it prints, `hprof top`, the page of `hprof report`, and every export."""
    option, value = RECORDED[word]
    recording = record(run, word)
    if word == "locks":
        text = of_terminal(recording.said, value)
        yield View("record", sampled(text), recording.known)
    elif word != "calls":
        # A row of a table is a method, whatever the class or the state.
        yield View("record", sampled(of_terminal(recording.said, value)), without_methods_of_states(recording.known))
        yield View("top", sampled(of_top(run, recording.file, option, value)), without_types(recording.known))
    yield View("top --json", sampled(of_top_json(run, recording.file, option, value)), without_types(recording.known))
    yield from exported(run, recording.file, recording.known)
    yield from page(run, recording, option, value)


def without_methods_of_states(known: list[Truth]) -> list[Truth]:
    return [truth if truth.value == "state_ns" else dataclasses.replace(truth, type="-") for truth in known]


def page(run: runs.Run, recording: Recording, option: str, value: str) -> typing.Iterator[View]:
    """The page of `hprof report` in Chromium."""
    module = importlib.import_module("views.page")
    run.notes["interval_ns"] = INTERVALS["cpu_ns"]
    try:
        module.find(run.places)
    except CannotRun as reason:
        runs.note(f"    {module.NAME}: {reason}")
        return
    rows = module.read(run, recording.file, option, value)
    yield View(module.NAME, sampled(Answer(rows, frozenset({value}))), without_types(recording.known))


def mine(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof top --mine`: the program's methods with what they call."""
    recording = record(run, "cpu")
    yield View("top --mine", sampled(of_top(run, recording.file, "cpu", "cpu_ns", "--mine")), recording.known)


def lifetimes(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof top --value temporary-bytes` and the like, of a recording of allocations."""
    recording = record(run, "alloc")
    for option in ("temporary-bytes", "temporary-objects"):
        value = option.replace("-", "_")
        yield View(f"top --value {option}", of_top_json(run, recording.file, option, value), without_types(recording.known))
        more = ("--bytes",) if option.endswith("bytes") else ()
        yield View(f"top --value {option}, text", of_top(run, recording.file, option, value, *more), without_types(recording.known))


def diff(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof diff` of the program before and after a change; the second is sampled half as often."""
    before = record(run, "cpu", name="before")
    after = record(run, "cpu=samples,interval=20,format=b,depth=512,verbose=n", "after", name="after")
    said = json.loads(runs.call(run.places.cli, "diff", "--json", "-n", "0", before.file, after.file))
    rows = [
        Row((row["name"],), None, None, {"less_ns": factor_of(said) * (total(row["base"]) - total(row["new"]))}) for row in said["rows"]
    ]
    # Where nothing has changed, one of the longer intervals more or less is chance.
    chance = 2 * INTERVALS["cpu_ns"]
    known = [
        Truth("less_ns", old.where, old.type, old.low - new.high - chance, old.high - new.low + chance)
        for old, new in zip(before.known, after.known, strict=True)
        if old.value == "cpu_ns"
    ]
    yield View("diff", Answer(rows, frozenset({"less_ns"}), {"less_ns": 2 * INTERVALS["cpu_ns"] / REGULAR}), known)


def total(costs: dict | None) -> int:
    return costs["total"] if costs else 0


def factor_of(said: dict) -> float:
    """Returns the nanoseconds that one unit of an answer's values stands for."""
    return 1 if said["unit"] == "nanoseconds" else said["interval_ns"]


def growth(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof growth`, of a recording of allocations, which ends with the same line."""
    recording = record(run, "alloc")
    said = json.loads(runs.call(run.places.cli, "growth", "--json", recording.file))
    rows = [
        Row(
            tuple(frame.partition("(")[0] for frame in row["stack"]),
            row["class"],
            None,
            {"growing_objects_per_minute": row["objects_per_minute"], "growing_sites": 1},
        )
        for row in said["rows"]
    ]
    yield View("growth --json", Answer(rows, frozenset({"growing_objects_per_minute", "growing_sites"})), recording.known)
    named = [Row(("Grows.subscribe",), "Grows$Listener", None, {"growing_sites": 1})] if "Grows$Listener" in recording.said else []
    yield View("record", Answer(named, frozenset({"growing_sites"})), [Truth("growing_sites", "Grows.subscribe", "Grows$Listener", 1, 1)])


def heap(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof record heap`: what is alive, and what keeps it; then `hprof heap leaks` and a histogram."""
    recording = record(run, "heap")
    rows = [
        Row((), name, None, {"live_bytes": amount(size, unit), "live_objects": int(count.replace(",", ""))})
        for size, unit, count, name in re.findall(rf"^ +{CELL} +[\d.]+ +([\d,]+)  (\S.*)$", recording.said, re.M)
    ]
    answer = Answer(rows, frozenset({"live_objects", "live_bytes", "suspects"}), rounding={"live_bytes": 60})
    if re.search(r"held by static field Keeps\.SESSIONS", recording.said):
        answer.rows.append(Row(("Keeps.SESSIONS",), "Keeps$Session", None, {"suspects": 1}))
    yield View("record", answer, recording.known)
    yield from suspects(run, "heap leaks", recording.file, recording.known)
    said = json.loads(runs.call(run.places.cli, "heap", "histogram", "--json", "--top", "0", recording.file))
    counted = [Row((), row["name"], None, {"live_objects": row["objects"], "live_bytes": row["shallow"]}) for row in said["rows"]]
    yield View("heap histogram", Answer(counted, frozenset({"live_objects", "live_bytes"})), recording.known)


def suspects(run: runs.Run, name: str, file: pathlib.Path, known: list[Truth]) -> typing.Iterator[View]:
    said = json.loads(runs.call(run.places.cli, "heap", "leaks", "--json", file))
    rows = [
        Row((suspect["holder"].removeprefix("static field "),), row["class"], None, {"suspects": 1})
        for suspect in said["suspects"]
        for row in suspect["kept"]
    ]
    yield View(name, Answer(rows, frozenset({"suspects"})), known)


def redact(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof redact`: no text of the program's is in the copy, which still tells what leaks."""
    recording = record(run, "heap")
    copy = run.folder / "copy.hprof"
    runs.call(run.places.cli, "redact", recording.file, "-o", copy)
    secret = b"secret user"
    if secret not in recording.file.read_bytes():
        raise CannotRun("the dump does not have the text that is to be hidden")
    rows = [Row(values={"secrets": copy.read_bytes().count(secret)})]
    yield View("redact", Answer(rows, frozenset({"secrets"})), recording.known)
    yield from suspects(run, "heap leaks of the copy", copy, recording.known)


def memory(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof attach`, two dumps, and `hprof heap diff`."""
    file = run.folder / "grow.hprof"
    cli, agent = run.places.cli, run.places.agent
    with waiting(run) as process:
        until_ready(process)
        runs.call(cli, "attach", "--yes", "--agent", agent, process.pid, f"heap=dump,format=b,verbose=n,file={file}")
        runs.call(cli, "dump", "--yes", process.pid)
        go_on(process)
        until_ready(process)
        runs.call(cli, "dump", "--yes", process.pid)
        go_on(process)
        known = truths.parse(process.stdout.read())
    said = json.loads(runs.call(cli, "heap", "diff", "--json", "--by", "class", "--top", "0", file, "--dump", "1", "--dump", "2"))
    changes = next(each for each in said if each["by"] == "class")["changes"]
    rows = [Row((), row["name"], None, {"more_objects": row["objects"][1] - row["objects"][0]}) for row in changes]
    yield View("heap diff", Answer(rows, frozenset({"more_objects"})), known)


def autopsy(run: runs.Run, _: str) -> typing.Iterator[View]:
    """A recording of a program that is killed, and `hprof autopsy` of what it leaves."""
    recording = record(run, "cpu")
    yield View("record", sampled(of_terminal(recording.said, "cpu_ns")), recording.known)
    text = runs.call(run.places.cli, "autopsy", recording.file)
    counts = re.findall(r"^ *\d+ +[\d.]+% +[\d.]+% +(\d+) +\d+ (\S+)$", text, re.M)
    rows = [Row((name,), None, None, {"cpu_ns": int(count) * INTERVALS["cpu_ns"]}) for count, name in counts]
    yield View("autopsy", sampled(Answer(rows, frozenset({"cpu_ns"}))), recording.known)


def live(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof live`: what a program does right now."""
    with waiting(run) as process:
        until_ready(process)
        words = [run.places.cli, "live", "--agent", run.places.agent, "--once", "--for", "2s", process.pid]
        watching = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True, env=runs.environment())
        go_on(process)
        text = watching.communicate(timeout=runs.TIMEOUT)[0]
        known = truths.parse(process.stdout.read())
    answer = Answer(says=frozenset({"cpu"}))
    for seconds, name in re.findall(r"^ +[\d.]+ +[\d.]+ +([\d.]+) s  (\S+)$", text, re.M):
        # Threads of the VM, such as compilers, are rows of their own: on a busy machine they have a third of the two seconds.
        if name.startswith("java.lang.Thread.<"):
            continue
        # The table has the innermost methods, and those of the JDK work for one of the program's.
        method = "Busy.sort" if name.startswith("java.util.") else name
        answer.rows.append(Row((method,), None, None, {"cpu": float(seconds) * 1e9}))
    yield View("live", sampled(answer), known)


def recv(run: runs.Run, _: str) -> typing.Iterator[View]:
    """`hprof recv`: the profile of a program elsewhere."""
    file = run.folder / "received.hprof"
    words = [run.places.cli, "recv", "-o", file, "--listen", "127.0.0.1:0"]
    receiving = subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, text=True, env=runs.environment())
    try:
        port = next(found[1] for line in receiving.stdout if (found := re.search(r"127\.0\.0\.1:(\d+)", line)))
        options = f"-agentpath:{run.places.agent}=cpu=samples,format=b,depth=512,verbose=n,net=127.0.0.1:{port}"
        command = java(run)
        output = runs.call(command[0], options, *command[1:])
        receiving.wait(runs.TIMEOUT)
    finally:
        receiving.kill()
        receiving.wait()
        receiving.stdout.close()
    yield View("recv", sampled(of_top_json(run, file, "cpu", "cpu_ns")), truths.parse(output))


QUESTIONS: dict[str, typing.Callable[[runs.Run, str], typing.Iterator[View]]] = {
    **dict.fromkeys(RECORDED, recorded),
    "mine": mine,
    "lifetimes": lifetimes,
    "diff": diff,
    "growth": growth,
    "heap": heap,
    "redact": redact,
    "memory": memory,
    "autopsy": autopsy,
    "live": live,
    "recv": recv,
}
