"""`hprof export --to json`."""

import json

from suite import runs

from . import row

NAME = "json"


def find(places):
    pass


def read(run, file):
    profile = json.loads(runs.call(run.places.cli, "export", "--to", "json", file))
    names = profile["names"]
    frames = [(".".join(part for part in (names[frame[0]], names[frame[1]]) if part), frame[4]) for frame in profile["frames"]]
    found = []
    for table in profile["tables"]:
        for stack, label, amounts in table["samples"]:
            labels = labels_of(profile, label)
            if labels.get("holder") is not None:
                labels["holder"] = [frames[index] for index in profile["stacks"][labels["holder"]]]
            for value, amount in zip(table["values"], amounts, strict=True):
                name, unit = value["name"], value["unit"]
                if name == "cpu":
                    amount, unit = amount * profile["interval_ns"], "nanoseconds"
                found += row([frames[index] for index in profile["stacks"][stack]], name, unit, amount, labels)
    return found


def labels_of(profile, number):
    if number is None:
        return {}
    of_row = profile["labels"][number]
    return {key: value if key == "holder" else profile["names"][value] for key, value in of_row.items()}
