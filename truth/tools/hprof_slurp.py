"""hprof-slurp, a summary of heap dumps in Rust."""

import re

from suite import conformance, runs
from suite.answers import CannotRun

NAME = "hprof-slurp"


def command(places):
    return places.tools / "bin/hprof-slurp"


def find(places):
    if not command(places).exists():
        raise CannotRun(f"{command(places)} is missing; `scripts/fetch truth` builds it")


def version(places):
    return runs.call(command(places), "--version").split()[-1]


def verdict(path, run):
    done = conformance.command(command(run.places), path)
    if isinstance(done, conformance.Verdict):
        return done
    # A panic is not an answer.
    if "panicked" in done.stderr:
        return conformance.Verdict("failed", re.sub(r"\s+", " ", done.stderr.strip())[:160])
    return conformance.Verdict("broken" if done.returncode else "sound", (done.stderr or done.stdout).strip()[-160:])
