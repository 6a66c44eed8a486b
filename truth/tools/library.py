"""Shared by the readers that are libraries for the JVM; `scripts/fetch truth` puts their jars into target/tools/readers."""

import pathlib
import re

from suite import conformance, runs
from suite.answers import CannotRun

SOURCES = pathlib.Path(__file__).resolve().parent / "readers"
LINE = re.compile(r"^verdict (\S+) (sound|broken|failed) ?(.*)$", re.M)


def jars(places, wanted):
    found = sorted(path for path in (places.tools / "readers").glob("*.jar") if wanted(path.name))
    if not found:
        raise CannotRun(f"its jars are not in {places.tools}/readers; `scripts/fetch truth` fetches them from Maven Central")
    return found


def verdicts(program, found, paths, run):
    """Runs the reader once for all files."""
    home = run.places.newest
    classes = run.folder / "classes"
    path = ":".join(map(str, found))
    runs.call(
        home.command("javac"),
        "-nowarn",
        "-cp",
        path,
        "-d",
        classes,
        SOURCES / "Verdict.java",
        SOURCES / f"{program}.java",
    )
    listed = run.folder / "files"
    listed.write_text("\n".join(map(str, paths)) + "\n")
    said = runs.call(home.java, "-Xmx512m", "-cp", f"{classes}:{path}", program, listed)
    found = {}
    for name, word, rest in LINE.findall(said):
        objects = int(rest) if word == "sound" else None
        found[pathlib.Path(name)] = conformance.Verdict(word, rest if word != "sound" else "", objects)
    return found
