"""`hprof export --to firefox`, by the processed profile format."""

import json

from suite import runs

from . import row

NAME = "firefox"
# The unit of the weights, where the format has one.
UNITS = {"tracing-ms": "milliseconds"}


def find(places):
    pass


def read(run, file):
    profile = json.loads(runs.call(run.places.cli, "export", "--to", "firefox", file))
    found = []
    for thread in profile["threads"]:
        name, _, unit = thread["name"].partition(" (")
        samples = thread["samples"]
        unit = UNITS.get(samples["weightType"], unit.rstrip(")"))
        for index, stack in enumerate(samples["stack"]):
            names = []
            while stack is not None:
                frame = thread["stackTable"]["frame"][stack]
                method = thread["stringArray"][thread["funcTable"]["name"][thread["frameTable"]["func"][frame]]]
                names.append((method, thread["frameTable"]["line"][frame]))
                stack = thread["stackTable"]["prefix"][stack]
            found += row(names, name, unit, samples["weight"][index], {})
    return found
