"""`hprof export --to speedscope`, by the schema of its files."""

import json

from suite import runs

from . import row

NAME = "speedscope"
SCHEMA = "https://www.speedscope.app/file-format-schema.json"


def find(places):
    pass


def read(run, file):
    profile = json.loads(runs.call(run.places.cli, "export", "--to", "speedscope", file))
    assert profile["$schema"] == SCHEMA, profile["$schema"]
    frames = profile["shared"]["frames"]
    found = []
    for of_value in profile["profiles"]:
        assert of_value["type"] == "sampled" and len(of_value["samples"]) == len(of_value["weights"]), of_value["name"]
        # The viewer draws from the start to the end, and the weights must fill that.
        assert of_value["endValue"] - of_value["startValue"] == sum(of_value["weights"]), of_value["name"]
        for stack, weight in zip(of_value["samples"], of_value["weights"], strict=True):
            names = [(frames[index]["name"], frames[index].get("line")) for index in reversed(stack)]
            found += row(names, of_value["name"], of_value["unit"], weight, {})
    return found
