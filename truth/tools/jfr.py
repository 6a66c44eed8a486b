"""JDK Flight Recorder of the JVM at hand, read with the JDK's own `jfr print`."""

import json
import re

from suite import runs
from suite.answers import Answer, CannotRun, Row

NAME = "jfr"
SAYS = {
    "cpu": {"cpu"},
    "alloc": {"bytes"},
    "calls": {"calls"},
    "locks": {"contentions", "contended_ns", "lock_waits", "lock_ns", "waits", "waited_ns", "sleeps", "slept_ns"},
}
EVENTS = {
    "cpu": "ExecutionSample,NativeMethodSample",
    "alloc": "ObjectAllocationSample,ObjectAllocationInNewTLAB,ObjectAllocationOutsideTLAB",
    "calls": "MethodTiming",
    "locks": "JavaMonitorEnter,ThreadPark,JavaMonitorWait,ThreadSleep",
}
# The least Java of a mode.
NEEDS = {("cpu", "cputime"): 25, ("calls", ""): 25, ("locks", "all"): 17}


def find(places):
    pass


def version(places):
    return places.version


def arguments(run):
    least = NEEDS.get((run.case.kind, run.mode), 11)
    if run.jvm.feature < least:
        raise CannotRun(f"needs Java {least}")
    settings = run.options.split()
    if run.case.kind == "calls" and run.case.program == "*":
        raise CannotRun("it times only methods that a filter names")
    if run.case.kind == "calls":
        # It times no method unless a filter names it.
        classes = [path.stem for path in run.places.classes.glob(f"{run.case.program}*.class")]
        settings.append(f"jdk.MethodTiming#filter={';'.join(sorted(classes))}")
    return [
        f"-XX:StartFlightRecording={','.join(settings)},filename={run.folder}/out.jfr,dumponexit=true",
        "-XX:FlightRecorderOptions=stackdepth=1024",
    ]


def answer(run):
    kind = run.case.kind
    events = "CPUTimeSample" if run.mode == "cputime" else EVENTS[kind]
    # The newest `jfr` reads the recordings of all.
    said = runs.call(
        run.places.newest.command("jfr"),
        "print",
        "--json",
        "--stack-depth",
        "1024",
        "--events",
        events,
        run.folder / "out.jfr",
    )
    answer = Answer(says=frozenset(SAYS[kind]), has_threads=True)
    for event in json.loads(said)["recording"]["events"]:
        answer.rows += rows(event["type"].removeprefix("jdk."), event["values"])
    if kind == "cpu":
        answer.per_sample = {"cpu": 1}
    elif kind == "alloc":
        total = sum(row.values["bytes"] for row in answer.rows)
        answer.per_sample = {"bytes": total / len(answer.rows) if answer.rows else 1}
    return answer


def rows(kind, values):
    stack = tuple(frame_name(frame) for frame in (values.get("stackTrace") or {}).get("frames", ()))
    thread = (values.get("eventThread") or values.get("sampledThread") or {}).get("javaName")
    if kind in ("ExecutionSample", "CPUTimeSample"):
        return [Row(stack, None, thread, {"cpu": 1})]
    if kind.startswith("ObjectAllocation"):
        size = values.get("weight") or values.get("tlabSize") or values.get("allocationSize") or 0
        return [Row(stack, class_name(values["objectClass"]), thread, {"bytes": size})]
    if kind == "MethodTiming":
        method = values["method"]
        return [Row((f"{class_name(method['type'])}.{method['name']}",), None, None, {"calls": values["invocations"]})]
    nanos = duration(values.get("duration", ""))
    if kind == "JavaMonitorEnter":
        return [Row(stack, class_name(values["monitorClass"]), thread, {"contentions": 1, "contended_ns": nanos})]
    if kind == "JavaMonitorWait":
        return [Row(stack, class_name(values["monitorClass"]), thread, {"waits": 1, "waited_ns": nanos})]
    if kind == "ThreadSleep":
        return [Row(stack, None, thread, {"sleeps": 1, "slept_ns": nanos})]
    if kind == "ThreadPark":
        return [Row(stack, class_name(values.get("parkedClass")), thread, {"lock_waits": 1, "lock_ns": nanos})]
    return []


def frame_name(frame):
    method = frame["method"]
    return f"{class_name(method['type'])}.{method['name']}"


def class_name(value):
    """Returns `java.lang.String[]` of `[Ljava/lang/String;`."""
    if not value:
        return None
    from suite.dump import source_name

    return source_name(value["name"])


def duration(text):
    """Returns ns of ISO 8601's `PT0.025S` and its kin."""
    found = re.fullmatch(r"PT(?:(\d+)H)?(?:(\d+)M)?(?:([\d.]+)S)?", text)
    if not found:
        return 0
    hours, minutes, seconds = found.groups()
    return round((int(hours or 0) * 3600 + int(minutes or 0) * 60) * 1e9 + float(seconds or 0) * 1e9)
