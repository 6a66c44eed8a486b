"""hprof-analyzer, an analyzer of heap dumps in Rust that gives the reports of Eclipse MAT; it reads what `jcmd` has written."""

import json

from suite import leaks, runs
from suite.answers import Answer, CannotRun

NAME = "hprof-analyzer"
# It reads dumps and writes none: what is in them is not its answer.
READS_ONLY = True


def command(places):
    return places.tools / "bin/hprof-analyzer"


def find(places):
    if not command(places).exists():
        raise CannotRun(f"{command(places)} is missing; `scripts/fetch truth` builds it")


def version(places):
    return runs.call(command(places), "--version").split()[1]


def arguments(run):
    return []


def file(run):
    return run.folder / "out.hprof"


def at_ready(run, pid):
    # The `jcmd` of a newer JDK speaks to older JVMs.
    runs.call(run.places.newest.command("jcmd"), pid, "GC.heap_dump", file(run))


def answer(run):
    if run.case.kind == "heap":
        return Answer(dump=file(run))
    said = ask(run, "report", file(run), "--section", "leaks")
    try:
        return Answer(suspects=[suspect(each, said["total_shallow"]) for each in said["suspects"]])
    except (KeyError, TypeError) as error:
        raise CannotRun(f"its report of leaks has another form: {error!r}") from error


def ask(run, *words):
    """Returns what a command of it prints as JSON."""
    try:
        return json.loads(runs.call(command(run.places), "heap", *words, "--json"))
    except ValueError as error:
        raise CannotRun(f"what it prints is no JSON: {error}") from error


def suspect(said, total):
    names = [said["pretty_class"], said.get("accumulation_class"), *(step["display_class"] for step in said["path"])]
    names += [row["pretty_class"] for row in said["dominated_by_class"][: leaks.CLASSES]]
    return leaks.Suspect(tuple(filter(None, names)), said["retained"] / total)


def retained(run, name):
    """Returns the retained size of each object of a class."""
    said = ask(run, "query", file(run), "--oql", f"SELECT @objectAddress, @retainedHeapSize FROM {name}")
    try:
        return {int(str(address), 0): size for address, size in said["rows"]}
    except (KeyError, TypeError, ValueError) as error:
        raise CannotRun(f"its answer to a query has another form: {error!r}") from error
