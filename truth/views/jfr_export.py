"""`hprof export --to jfr`, read by the JDK's `jfr`."""

import json
import re

from suite import runs
from suite.answers import CannotRun

from . import row

NAME = "jfr"
# The fields of events with values, the names that these have in other exports, and their units.
FIELDS = {
    ("hprof.CpuSamples", "samples"): ("cpu", "nanoseconds"),
    ("hprof.WallTime", "elapsedTime"): ("wall", "nanoseconds"),
    ("hprof.LockWait", "lockWaitTime"): ("lock-wait", "nanoseconds"),
    ("hprof.MonitorContention", "waitTime"): ("contention", "nanoseconds"),
    ("hprof.MonitorContention", "waits"): ("contentions", "count"),
    ("hprof.CallTime", "ownTime"): ("time", "nanoseconds"),
    ("hprof.CallTime", "calls"): ("calls", "count"),
    ("hprof.AllocationSite", "allocatedBytes"): ("alloc-bytes", "bytes"),
    ("hprof.AllocationSite", "allocatedObjects"): ("alloc-objects", "count"),
    ("hprof.AllocationSite", "liveBytes"): ("live-bytes", "bytes"),
    ("hprof.AllocationSite", "liveObjects"): ("live-objects", "count"),
    ("hprof.SiteLifetimes", "temporaryBytes"): ("temporary-bytes", "bytes"),
    ("hprof.SiteLifetimes", "temporaryObjects"): ("temporary-objects", "count"),
}
DURATION = re.compile(r"^PT(?:(\d+)H)?(?:(\d+)M)?(?:(\d+)(?:\.(\d+))?S)?$")
PRIMITIVES = {"Z": "boolean", "B": "byte", "C": "char", "S": "short", "I": "int", "J": "long", "F": "float", "D": "double"}


def find(places):
    if not (places.newest.home / "bin/jfr").exists():
        raise CannotRun(f"{places.newest.home} has no jfr")


def read(run, file):
    target = run.folder / "view.jfr"
    runs.call(run.places.cli, "export", "--to", "jfr", "-o", target, file)
    said = runs.call(run.places.newest.home / "bin/jfr", "print", "--json", "--stack-depth", "600", "--events", "hprof.*", target)
    found = []
    for event in json.loads(said)["recording"]["events"]:
        values = event["values"]
        stack = [frame_of(frame) for frame in (values.get("stackTrace") or {}).get("frames", [])]
        labels = {"holder": values.get("holder")}
        if values.get("objectClass"):
            labels["class"] = source_name(values["objectClass"]["name"])
        for field, value in values.items():
            if (event["type"], field) in FIELDS:
                found += row(stack, *FIELDS[event["type"], field], number(value), labels)
    return found


def frame_of(frame):
    method = frame["method"]
    line = frame["lineNumber"]
    return f"{source_name(method['type']['name'])}.{method['name']}", line if line > 0 else None


def source_name(name):
    if name.startswith("["):
        element = name.lstrip("[")
        return source_name(PRIMITIVES.get(element, element.removeprefix("L").removesuffix(";"))) + "[]" * (len(name) - len(element))
    return name.replace("/", ".")


def number(value):
    """Returns a value, and of a length of time its nanoseconds."""
    if not isinstance(value, str):
        return value
    hours, minutes, seconds, rest = (part or "" for part in DURATION.match(value).groups())
    return ((int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)) * 1_000_000_000 + int(f"{rest:0<9}")
