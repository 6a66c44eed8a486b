"""`hprof export --to pprof`, read by pprof itself."""

import re

from suite import runs
from suite.answers import CannotRun

from . import row

NAME = "pprof"
SAMPLE = re.compile(r"^ *((?:-?\d+ +)*-?\d+): ((?:\d+ ?)*)$")
LABEL = re.compile(r"(\w+):\[((?:[^\]\[]|\[\])*)\]")
LOCATION = re.compile(r"^ +(\d+): 0x\w+(?: M=\d+)? (.+) [^ ]*:(\d+):\d+ s=\d+")


def command(places):
    return places.tool("HPROF_PPROF", "bin/pprof")


def find(places):
    if not command(places):
        raise CannotRun("there is no pprof")


def read(run, file):
    target = run.folder / "view.pb.gz"
    runs.call(run.places.cli, "export", "--to", "pprof", "-o", target, file)
    raw = runs.call(command(run.places), "-raw", target)
    _, _, rest = raw.partition("\nSamples:\n")
    samples, _, places = rest.partition("\nLocations\n")
    parts = (found.groups() for line in places.splitlines() if (found := LOCATION.match(line)))
    names = {location: (method, int(line) or None) for location, method, line in parts}
    types, *lines = samples.splitlines()
    values = [word.partition("[")[0].split("/") for word in types.split()]
    parsed = []
    for line in lines:
        if found := SAMPLE.match(line):
            parsed.append(([int(word) for word in found[1].split()], found[2].split(), {}))
        else:
            parsed[-1][2].update(LABEL.findall(line))
    found = []
    for amounts, locations, labels in parsed:
        for (name, unit), amount in zip(values, amounts, strict=True):
            found += row([names[each] for each in locations], name, unit, amount, labels)
    return found
