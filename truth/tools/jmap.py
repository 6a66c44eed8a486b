"""`jmap -histo` and `jmap -dump` of the JVM at hand."""

from suite import runs
from suite.answers import Answer

from . import jcmd

NAME = "jmap"


def find(places):
    pass


def version(places):
    return places.version


def arguments(run):
    run.jvm.command("jmap")
    return []


def at_ready(run, pid):
    option = run.options
    if run.case.kind == "heap":
        option += f",file={run.folder}/out.hprof"
    run.notes["said"] = runs.call(run.jvm.command("jmap"), option, pid)


def answer(run):
    if run.case.kind == "heap":
        return Answer(dump=run.folder / "out.hprof")
    return jcmd.histogram(run.notes["said"])
