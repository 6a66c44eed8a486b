"""Shark, the reader of LeakCanary."""

from . import library

NAME = "shark"


def wanted(jar):
    return jar.startswith(("shark", "okio", "kotlin", "annotations", "trove"))


def find(places):
    if not any(jar.name.startswith("shark") for jar in library.jars(places, wanted)):
        library.jars(places, lambda jar: False)


def version(places):
    return next(jar.stem.rpartition("-")[2] for jar in library.jars(places, wanted) if jar.name.startswith("shark-graph"))


def verdicts(paths, run):
    return library.verdicts("Shark", library.jars(run.places, wanted), paths, run)
