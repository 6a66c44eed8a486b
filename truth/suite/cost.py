"""Measures how much longer programs take under each tool, beside how right its answers are: truth for what price."""

from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import statistics
import subprocess
import tempfile
import threading
import time
import types
import typing

from . import runs
from .answers import CannotRun
from .cases import Case
from .report import Result
from .truths import Finding, distance

SOURCES = pathlib.Path(__file__).resolve().parent.parent
# The kinds whose tools are there while a program runs, in the order of the tables.
KINDS = ("cpu", "alloc", "calls", "locks", "wall", "lifetimes")
# How often each program runs under each tool at least, in turn with runs without any.
ROUNDS = 2
# A mode that takes so many times as long is run no more often than was asked for: what differs from run to run is little beside that.
EXPENSIVE = 8.0
MEASURED = ("wall", "CPU")


def orders(jvm: runs.Jvm, places: runs.Places, folder: pathlib.Path) -> list[object]:
    return ["-cp", places.classes, "Orders", 1_600]


def javac(jvm: runs.Jvm, places: runs.Places, folder: pathlib.Path) -> list[object]:
    jvm.command("javac")
    return ["-cp", places.classes, "Compile", SOURCES / "cases", folder, 3]


def closure(jvm: runs.Jvm, places: runs.Places, folder: pathlib.Path) -> list[object]:
    compiler, source = places.programs / "compiler.jar", places.programs / "lodash.js"
    if not compiler.exists() or not source.exists():
        raise CannotRun(f"the Closure compiler is not in {places.programs}; `scripts/fetch` fetches it")
    return ["-jar", compiler, "-O", "SIMPLE", "--js", source, "--js_output_file", folder / "out.js"]


# What is run: small programs of this folder's own, the JDK's compiler, and a large program that others wrote.
PROGRAMS = {"Orders": orders, "javac": javac, "Closure": closure}


class Suite(typing.Protocol):
    """What is measured, and with what."""

    arguments: argparse.Namespace
    jvms: list[runs.Jvm]
    compiler: runs.Jvm
    places: runs.Places
    folder: pathlib.Path

    def modes(self, module: types.ModuleType, kind: str) -> list[tuple[str, str]]: ...


@dataclasses.dataclass(frozen=True)
class Used:
    """What one run of a program took, in seconds."""

    wall: float
    cpu: float


def run(command: list[object], folder: pathlib.Path) -> Used:
    """Runs a program whose output is not wanted."""
    words = [str(word) for word in command]
    with tempfile.TemporaryFile("w+", errors="replace") as output:
        start = time.monotonic()
        process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=output, stderr=output, cwd=folder, env=runs.environment())
        timer = threading.Timer(runs.TIMEOUT, process.kill)
        timer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            # As after Ctrl-C: no program is left behind.
            process.kill()
            process.wait()
            raise
        finally:
            timer.cancel()
        wall = time.monotonic() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            output.seek(0)
            raise CannotRun(f"the program ended with {process.returncode}: {output.read().strip()[-200:]}")
    return Used(wall, usage.ru_utime + usage.ru_stime)


def measure(suite: Suite, modules: dict) -> list[Result]:
    """Runs each program without a tool and under each mode of each tool, in turn."""
    sources = sorted((SOURCES / "programs").glob("*.java"))
    runs.call(suite.compiler.command("javac"), "-nowarn", "-Xlint:-options", "--release", "11", "-d", suite.places.classes, *sources)
    named = [name for name in PROGRAMS if name in suite.arguments.what]
    results = []
    for jvm in suite.jvms:
        for name in named or PROGRAMS:
            results += program(suite, modules, jvm, name)
    return results


def program(suite: Suite, modules: dict, jvm: runs.Jvm, name: str) -> list[Result]:
    modes = [
        (kind, module, mode, options)
        for kind in KINDS
        for module in modules.values()
        if hasattr(module, "arguments") and module.NAME not in ("jcmd", "jmap")
        for mode, options in suite.modes(module, kind)
    ]
    results = {}
    for kind, module, mode, _ in modes:
        results[kind, module.NAME, mode] = Result("cost", name, str(jvm.feature), 1, module.NAME, f"{mode} ({kind})".strip(), "", [])
    ratios: dict[tuple, list[Used]] = {}
    for number in range(1, max(suite.arguments.runs, ROUNDS) + 1):
        try:
            bare = once(suite, jvm, name, [])
        except CannotRun as error:
            for result in results.values():
                result.reason = str(error)
            break
        for kind, module, mode, options in modes:
            key = (kind, module.NAME, mode)
            if results[key].reason or (number > suite.arguments.runs and is_expensive(ratios.get(key, []))):
                continue
            runs.note(f"{jvm.feature}: cost {name}, {number}: {module.NAME} {mode} ({kind})")
            try:
                used = once(suite, jvm, name, [module, kind, mode, options])
                ratios.setdefault(key, []).append(Used(used.wall / bare.wall, used.cpu / bare.cpu))
            except CannotRun as error:
                results[key].reason = str(error)
    for key, of_mode in ratios.items():
        if not results[key].reason:
            results[key].findings = [
                finding(name, "wall", [used.wall for used in of_mode]),
                finding(name, "CPU", [used.cpu for used in of_mode]),
            ]
    return list(results.values())


def is_expensive(ratios: list[Used]) -> bool:
    """Returns True if one run has shown that a mode takes many times as long."""
    return any(used.wall >= EXPENSIVE for used in ratios)


def once(suite: Suite, jvm: runs.Jvm, name: str, tool: list) -> Used:
    with tempfile.TemporaryDirectory(dir=suite.folder) as made:
        folder = pathlib.Path(made)
        options: list[object] = []
        if tool:
            module, kind, mode, text = tool
            module.find(suite.places)
            case = Case(kind, "*", "", (), 11)
            options = module.arguments(runs.Run(case, mode, text, jvm, folder, suite.places))
        return run([jvm.java, *options, "-Xmx1g", *PROGRAMS[name](jvm, suite.places, folder)], folder)


def finding(name: str, what: str, ratios: list[float]) -> Finding:
    """Returns a measured ratio, which is neither right nor wrong."""
    middle = statistics.median(ratios)
    spread = f"{min(ratios):.3f} to {max(ratios):.3f} in {len(ratios)} {'round' if len(ratios) == 1 else 'rounds'}"
    return Finding(f"{what} ratio of {name}", "", f"{middle:.3f}", None, None, note=spread, measured=True)


def table(results: list[Result]) -> str:
    """Returns a table for each JVM: for each tool and mode how right it was in this call, and what it cost."""
    lines = []
    costs = [result for result in results if result.kind == "cost"]
    for jvm in dict.fromkeys(result.jvm for result in costs):
        of_jvm = [result for result in costs if result.jvm == jvm]
        names = list(dict.fromkeys(result.case for result in of_jvm))
        lines += ["", f"cost, JVM {jvm}: wall and CPU time, divided by those without a tool", ""]
        lines.append(f"| tool | right | error | {' | '.join(f'{name}: {what}' for name in names for what in MEASURED)} |")
        lines.append("|---" * (3 + len(MEASURED) * len(names)) + "|")
        for tool, mode in dict.fromkeys((result.tool, result.mode) for result in of_jvm):
            cells = []
            for name in names:
                found = next(result for result in of_jvm if (result.tool, result.mode, result.case) == (tool, mode, name))
                said = [finding.answer for finding in found.findings]
                cells += [f"{float(answer):.2f}" for answer in said if answer] or ["", ""]
            if any(cells):
                lines.append(f"| {tool} {mode} | {' | '.join([*rightness(results, jvm, tool, mode), *cells])} |")
        reasons = dict.fromkeys(f"{result.case}: {result.reason}" for result in of_jvm if result.reason)
        lines += ["", *reasons] if reasons else []
    return "\n".join(lines).strip()


def rightness(results: list[Result], jvm: str, tool: str, mode: str) -> tuple[str, str]:
    """Returns how many of a tool's answers of a kind were right in this call, and the mean error of its cases."""
    name, _, kind = mode.removesuffix(")").rpartition("(")
    of_kind = [result for result in results if (result.kind, result.jvm, result.who) == (kind, jvm, f"{tool} {name}".strip())]
    said = [finding for result in of_kind for finding in result.findings if finding.right is not None]
    errors = [error for result in of_kind if (error := distance(result.findings)) is not None]
    if not said:
        return ("", "")
    right = f"{sum(bool(finding.right) for finding in said)} of {len(said)}"
    return (right, f"{statistics.mean(errors):.3f}" if errors else "")
