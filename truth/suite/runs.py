"""Runs a case's program under a tool."""

from __future__ import annotations

import dataclasses
import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from . import cases
from .answers import CannotRun
from .cases import Case

# A program that takes longer hangs.
TIMEOUT = 600
# Options that a user's shell gives to every JVM would change what is measured.
FOREIGN = ("JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "JDK_JAVAC_OPTIONS", "_JAVA_HPROF_OPTIONS")


def environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in FOREIGN}


def note(text: str) -> None:
    print(f"== {text}", file=sys.stderr, flush=True)


def call(*words: object, timeout: float = TIMEOUT) -> str:
    """Runs a command and returns its output; what fails says so."""
    command = [str(word) for word in words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=environment(), errors="replace")
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotRun(f"{pathlib.Path(command[0]).name}: {error}") from error
    if done.returncode:
        lines = (done.stderr.strip() or done.stdout.strip()).splitlines() or [""]
        raise CannotRun(f"{pathlib.Path(command[0]).name} failed with {done.returncode}: {lines[-1][:200]}")
    return done.stdout


@dataclasses.dataclass(frozen=True)
class Jvm:
    """A Java home."""

    home: pathlib.Path
    feature: int
    version: str

    @property
    def java(self) -> pathlib.Path:
        return self.home / "bin/java"

    def command(self, name: str) -> pathlib.Path:
        """Returns a command of this JDK."""
        path = self.home / "bin" / name
        if not path.exists():
            raise CannotRun(f"{self.home} has no {name}")
        return path


@functools.cache
def jvm(home: pathlib.Path) -> Jvm:
    """Returns what kind of JVM is there; `CannotRun` if none is."""
    java = home / "bin/java"
    if not java.exists():
        raise CannotRun(f"there is no bin/java in {home}")
    done = subprocess.run([java, "-XshowSettings:properties", "-version"], capture_output=True, text=True, env=environment())
    properties = dict(re.findall(r"^ +([\w.]+) = (.*)$", done.stderr, re.M))
    feature = properties.get("java.specification.version", "0").removeprefix("1.")
    if not feature.isdigit() or int(feature) < 11:
        raise CannotRun(f"{home} is Java {feature}; the cases need 11 or later")
    return Jvm(home, int(feature), properties.get("java.vm.version", "?"))


@dataclasses.dataclass
class Run:
    """One program under one tool."""

    case: Case
    mode: str
    options: str
    jvm: Jvm
    folder: pathlib.Path
    places: Places
    output: str = ""
    errors: str = ""
    # What the tool has noted while the program waited.
    notes: dict[str, object] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Places:
    """Where the tools are."""

    root: pathlib.Path
    agent: pathlib.Path
    cli: pathlib.Path
    tools: pathlib.Path
    programs: pathlib.Path
    classes: pathlib.Path
    newest: Jvm
    layouts: dict[pathlib.Path, str] = dataclasses.field(default_factory=dict)
    scale: float = 1.0

    def tool(self, variable: str, path: str) -> pathlib.Path | None:
        """Returns a program of others: what the environment names, or what `scripts/fetch` has put there; None if it is not there."""
        found = pathlib.Path(os.environ.get(variable) or self.tools / path)
        return found if found.exists() else None

    def layout(self, jvm: Jvm) -> str:
        """Returns header, array header and size of references, measured once for each JVM."""
        if jvm.home not in self.layouts:
            said = call(jvm.java, "-Xmx512m", "-cp", self.classes, "Truth")
            self.layouts[jvm.home] = said.strip().removeprefix("layout ")
        return self.layouts[jvm.home]


def execute(run: Run, tool) -> None:
    """Runs the program; the tool may look at it while it waits with everything in place."""
    case, places = run.case, run.places
    command = [
        str(run.jvm.java),
        *tool.arguments(run),
        "-Xmx512m",
        *case.vm,
        f"-Dtruth.layout={places.layout(run.jvm)}",
    ]
    if case.library:
        library = cases.library(places.classes, case)
        if not library.exists():
            raise CannotRun("there is no C compiler for its native methods")
        command.append(f"-Dtruth.library={library}")
    command += [f"-Dtruth.scale={places.scale}", "-cp", str(places.classes), case.program]
    with tempfile.TemporaryFile("w+", errors="replace") as errors:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=run.folder,
            env=environment(),
            errors="replace",
        )
        timer = threading.Timer(TIMEOUT, process.kill)
        timer.start()
        lines = []
        try:
            for line in process.stdout:
                lines.append(line)
                if line == "ready\n":
                    if hasattr(tool, "at_ready"):
                        tool.at_ready(run, process.pid)
                    process.stdin.write("\n")
                    process.stdin.flush()
            process.wait()
        finally:
            timer.cancel()
            if process.poll() is None:
                process.kill()
                process.wait()
            process.stdout.close()
            process.stdin.close()
        errors.seek(0)
        run.errors = errors.read()
    run.output = "".join(lines)
    if process.returncode:
        last = (run.errors.strip().splitlines() or [run.output.strip()])[-1]
        raise CannotRun(f"the program ended with {process.returncode}: {last[:200]}")
