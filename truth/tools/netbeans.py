"""NetBeans' heap library, which VisualVM uses."""

from . import library

NAME = "netbeans"


def wanted(jar):
    return "netbeans" in jar


def find(places):
    library.jars(places, wanted)


def version(places):
    return library.jars(places, wanted)[0].stem.rpartition("-")[2]


def verdicts(paths, run):
    return library.verdicts("NetBeans", library.jars(run.places, wanted), paths, run)
