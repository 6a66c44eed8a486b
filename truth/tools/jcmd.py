"""`jcmd GC.class_histogram` and `jcmd GC.heap_dump` of the JVM at hand."""

import re

from suite import runs
from suite.answers import Answer, Row

NAME = "jcmd"
# `   1:          1000          24000  Sites$Kept` or `[I (java.base@25)`.
LINE = re.compile(r"^ *\d+: +(\d+) +(\d+)  (\S+)", re.M)


def find(places):
    pass


def version(places):
    return places.version


def arguments(run):
    run.jvm.command("jcmd")
    return []


def at_ready(run, pid):
    command = [run.jvm.command("jcmd"), pid, *run.options.split()]
    if run.case.kind == "heap":
        command.append(run.folder / "out.hprof")
    run.notes["said"] = runs.call(*command)


def answer(run):
    if run.case.kind == "heap":
        return Answer(dump=run.folder / "out.hprof")
    return histogram(run.notes["said"])


def histogram(text):
    """Reads a histogram of the JDK, which knows classes and no methods."""
    from suite.dump import source_name

    answer = Answer(says=frozenset({"live_objects", "live_bytes"}), has_stacks=False)
    for count, size, name in LINE.findall(text):
        answer.rows.append(Row((), source_name(name), None, {"live_objects": int(count), "live_bytes": int(size)}))
    return answer
