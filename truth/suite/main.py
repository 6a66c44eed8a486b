"""The command `truth/run`."""

from __future__ import annotations

import argparse
import concurrent.futures
import configparser
import copy
import dataclasses
import datetime
import difflib
import importlib
import itertools
import os
import pathlib
import signal
import sys
import tempfile
import threading

from . import cases, conformance, corpus, cost, dump, graph, leaks, questions, report, runs, spoil, truths
from .answers import Answer, CannotRun, Row
from .cases import Case
from .report import Result

FOLDER = pathlib.Path(__file__).resolve().parent.parent
# The files of `truth/tools`, in the order of the tables' columns.
TOOLS = ["hprof", "async_profiler", "jfr", "jcmd", "jmap", "hprof_analyzer", "hprof_slurp", "shark", "netbeans"]
# The share of its work that a case does in a reduced run.
REDUCED_SCALE = 0.5
# The number of retained sizes that are computed, by whether the run is reduced.
RETAINED = {False: 60, True: 12}
# The modes of this project's tools that a reduced run takes: for cpu, the one with most samples.
REDUCED_MODES = {"cpu": ("fine",), "wall": ("fine",), "heap": ("", "jvmti"), "leaks": ("births",)}
# The name of the modes that use nothing of HotSpot but what JVMTI promises.
PORTABLE = "jvmti"
# The programs of these kinds sleep most of their time, or know their times by their threads' own clocks: so many run at once.
AT_ONCE = {"leaks": 5, "answers": 4}

DESCRIPTION = """\
Runs programs whose right answers are known under profilers and heap tools, and compares. Without a TOOL all that are found are run,
without a CASE all cases. A CASE is the name of a case, such as Sites, or of a kind, such as alloc. Prints a table for each kind and
writes every value to truth/results/<date>-<machine>.csv.

Exit status: 0 if all tools were right in all that they say, but for the known errors in truth/losses.ini, 1 if one was wrong, 2 if the
arguments are wrong or nothing could run."""


class Arguments(argparse.ArgumentParser):
    def error(self, message: str):
        self.exit(2, f"truth/run: {message}\n")


def parser() -> argparse.ArgumentParser:
    arguments = Arguments(prog="truth/run", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("what", nargs="*", metavar="TOOL or CASE", help="what to run; --list shows the names")
    arguments.add_argument(
        "--jdk",
        action="append",
        metavar="HOME",
        type=pathlib.Path,
        help="a JVM to run the cases on; may be repeated (default: $JAVA_HOME, or java on PATH)",
    )
    arguments.add_argument(
        "--javac",
        metavar="HOME",
        type=pathlib.Path,
        help="the JDK that compiles the cases (default: the newest of --jdk that has a compiler)",
    )
    arguments.add_argument(
        "--runs",
        type=int,
        default=1,
        metavar="N",
        help="run each case N times: errors get confidence intervals (default: 1)",
    )
    arguments.add_argument(
        "--work",
        type=float,
        default=1.0,
        metavar="SHARE",
        help="the share of their work that the cases of cpu and calls do, such as 0.5: fewer samples, less time (default: 1)",
    )
    arguments.add_argument("--reduced", action="store_true", help="each case once, with less work, this project's tools alone")
    arguments.add_argument("--portable", action="store_true", help=f"only the modes `{PORTABLE}`, which every JVM allows")
    arguments.add_argument("--spoil", choices=spoil.KINDS, metavar="KIND", help=f"spoil the answers on purpose: {', '.join(spoil.KINDS)}")
    arguments.add_argument("--full", action="store_true", help="print every truth with every tool's answer, too")
    arguments.add_argument("--output", type=pathlib.Path, metavar="FILE", help="the file for the values")
    arguments.add_argument("--list", action="store_true", help="print the tools and cases, and what each tool claims")
    return arguments


def main(given: list[str]) -> int:
    arguments = parser().parse_args(given)
    # As by Ctrl-C: no program and no file is left behind.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    options = read_options()
    every = cases.find()
    if arguments.list:
        print_list(options, every)
        return 0
    try:
        tools, kinds, chosen = choose(arguments, every)
        suite = Suite(arguments, options)
        results = suite.all(tools, kinds, chosen)
    except KeyboardInterrupt:
        return 130
    except CannotRun as error:
        print(f"truth/run: {error}", file=sys.stderr)
        return 2
    if not any(not result.reason for result in results):
        for reason in dict.fromkeys(f"{result.tool}: {result.reason}" for result in results):
            print(f"truth/run: {reason}", file=sys.stderr)
        return 2
    output = arguments.output or new_file(FOLDER / "results")
    report.write_csv(output, results)
    print(report.table([result for result in results if result.kind != "cost"]))
    if any(result.kind == "cost" for result in results):
        print("\n" + cost.table(results))
    if arguments.full:
        print("\n" + report.full(results))
    for kind, (found, spoiled) in suite.spoiled.items():
        print(f"\nSpoiled on purpose ({kind}): {found} of {spoiled} answers were found wrong.")
    losses = read_losses()
    known = {
        section: [result for result in results if is_known(section, losses[section].get("jvms", ""), result)]
        for section in losses.sections()
    }
    for section, of_section in known.items():
        wrong = dict.fromkeys(result.name for result in of_section if report.details([result]))
        if wrong:
            print(f"\nA known error, {', '.join(wrong)}: {losses[section]['why']}.")
    unknown = [result for result in results if not any(result in of_section for of_section in known.values())]
    # Of this project's tools all cases must run.
    failed = [f"{result.kind} {result.case}: {result.who}: {result.reason}" for result in results if result.reason and arguments.reduced]
    wrong = "\n".join(filter(None, [report.details(unknown), *suite.missed, *failed]))
    print(f"\nEvery value is in {output}.")
    if wrong:
        print(f"\nWrong:\n{wrong}")
    return 1 if wrong else 0


def new_file(folder: pathlib.Path) -> pathlib.Path:
    """Returns a name in the folder that no file has: the values of a run are never overwritten."""
    name = f"{datetime.date.today().isoformat()}-{report.machine()}"
    names = itertools.chain([name], (f"{name}-{number}" for number in itertools.count(2)))
    return next(path for path in (folder / f"{each}.csv" for each in names) if not path.exists())


def read_losses() -> configparser.ConfigParser:
    losses = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    losses.read(FOLDER / "losses.ini", encoding="utf-8")
    return losses


def is_known(section: str, jvms: str, result: Result) -> bool:
    """Returns True if the section of `losses.ini` names the result: `TOOL KIND CASE...` or `TOOL MODE KIND CASE...`."""
    head = f"{result.who} {result.kind} "
    if jvms and result.jvm not in jvms.split():
        return False
    return section.startswith(head) and result.case in section.removeprefix(head).split()


def read_options() -> configparser.ConfigParser:
    options = configparser.ConfigParser(interpolation=None, delimiters=("=",))
    options.read(FOLDER / "options.ini", encoding="utf-8")
    return options


def print_list(options: configparser.ConfigParser, every: list[Case]) -> None:
    for kind, what in cases.KINDS.items():
        print(f"{kind}: {what}")
        names = list(cost.PROGRAMS) if kind == "cost" else [case.name for case in every if case.kind == kind]
        if names:
            print(f"    cases: {', '.join(names)}")
        for section in options.sections():
            tool, of_kind, *mode = section.split()
            if of_kind == kind:
                print(f"    {' '.join([tool, *mode])}: {options[section]['claims']}")


def choose(arguments: argparse.Namespace, every: list[Case]) -> tuple[list[str], list[str], list[Case]]:
    """Sorts the names that were given into tools, kinds without programs, and cases."""
    if arguments.runs < 1:
        raise CannotRun(f"--runs {arguments.runs}: a number of 1 or more is needed")
    if not 0 < arguments.work <= 10:
        raise CannotRun(f"--work {arguments.work:g}: a number above 0, and 10 at most, is needed")
    names = {name.replace("_", "-"): name for name in TOOLS}
    tools, kinds, chosen = [], [], []
    for word in arguments.what:
        of_kind = [case for case in every if case.kind == word]
        named = [case for case in every if word in (case.name, case.program)]
        if word in names:
            tools.append(names[word])
        elif word in cases.KINDS:
            kinds.append(word)
            chosen += of_kind
        elif named:
            chosen += named
        elif word in cost.PROGRAMS:
            kinds.append("cost")
        else:
            known = [*names, *cases.KINDS, *(case.name for case in every), *cost.PROGRAMS]
            near = difflib.get_close_matches(word, known, 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise CannotRun(f"there is no tool, kind or case {word}{hint} (--list shows all)")
    if not chosen and not kinds:
        kinds, chosen = list(cases.KINDS), every
    if arguments.reduced:
        if tools not in ([], ["hprof"]):
            raise CannotRun("--reduced runs this project's tools alone")
        tools = ["hprof"]
        # What a tool costs is neither right nor wrong.
        kinds = [kind for kind in kinds if kind != "cost"]
    return tools or TOOLS, kinds, list(dict.fromkeys(chosen))


class Suite:
    """One call of the command."""

    def __init__(self, arguments: argparse.Namespace, options: configparser.ConfigParser):
        self.arguments = arguments
        # How many spoiled answers of each kind were found wrong, of how many; and those that were not.
        self.spoiled: dict[str, list[int]] = {}
        self.missed: list[str] = []
        self.lock = threading.Lock()
        # The findings of programs before a change.
        self.before: dict[tuple, list[truths.Finding]] = {}
        self.options = options
        homes = arguments.jdk or [default_home()]
        self.jvms = [runs.jvm(home.resolve()) for home in homes]
        compilers = [runs.jvm(arguments.javac.resolve())] if arguments.javac else self.jvms
        compilers = [jvm for jvm in compilers if (jvm.home / "bin/javac").exists()]
        if not compilers:
            raise CannotRun("none of the JVMs has a compiler; name a JDK with --javac")
        self.compiler = max(compilers, key=lambda jvm: jvm.feature)

    def all(self, tools: list[str], kinds: list[str], chosen: list[Case]) -> list[Result]:
        with tempfile.TemporaryDirectory(prefix="truth-") as folder:
            self.folder = pathlib.Path(folder)
            self.places = places(self)
            runnable = [case for case in chosen if case.needs <= self.compiler.feature]
            if runnable:
                cases.compile_all(self.compiler.home, self.places.classes, runnable)
            modules = {name: importlib.import_module(f"tools.{name}") for name in tools}
            results = []
            for jvm in self.jvms:
                for kind, of_kind in itertools.groupby(runnable, lambda case: case.kind):
                    of_jvm = [case for case in of_kind if case.needs <= jvm.feature]
                    # Measured before anything runs at the same time.
                    self.places.layout(jvm)
                    for found in self.each(AT_ONCE.get(kind, 1), lambda case, jvm=jvm: self.case(modules, case, jvm), of_jvm):
                        results += found
            if "conformance" in kinds:
                results += self.conformance(modules)
            if "cost" in kinds:
                results += cost.measure(self, modules)
            return results

    def each(self, at_once: int, run, of_kind: list[Case]):
        if at_once == 1:
            yield from map(run, of_kind)
            return
        with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
            yield from pool.map(run, of_kind)

    def modes(self, module, kind: str) -> list[tuple[str, str]]:
        """Returns the modes of a tool for a kind, each with its options."""
        found = []
        for section in self.options.sections():
            tool, of_kind, *mode = section.split()
            if tool == module.NAME and of_kind == kind:
                found.append((" ".join(mode), self.options[section]["options"]))
        if self.arguments.portable:
            return [mode for mode in found if mode[0] == PORTABLE]
        if self.arguments.reduced:
            found = [mode for mode in found if mode[0] in REDUCED_MODES.get(kind, ("",))]
        return found

    def case(self, modules: dict, case: Case, jvm: runs.Jvm) -> list[Result]:
        """Runs one case under each tool in turn, as often as was asked for."""
        results = []
        for number in range(1, self.arguments.runs + 1):
            for module in modules.values():
                modes = self.modes(module, case.kind)
                # A variant adds little under another mode.
                for mode, options in modes[:1] if self.arguments.reduced and case.variant else modes:
                    runs.note(f"{jvm.feature}: {case.kind} {case.name}: {module.NAME} {mode}".rstrip())
                    result = Result(case.kind, case.name, str(jvm.feature), number, module.NAME, mode, "", [])
                    try:
                        module.find(self.places)
                        result.version = jvm.version if module.NAME in ("jfr", "jcmd", "jmap") else module.version(self.places)
                        with tempfile.TemporaryDirectory(dir=self.folder) as folder:
                            run = runs.Run(case, mode, options, jvm, pathlib.Path(folder), self.places)
                            result.findings = self.findings(module, run)
                    except CannotRun as error:
                        result.reason = str(error)
                        runs.note(f"    {error}")
                    results.append(result)
                    results += self.change(case, result)
        return results

    def change(self, case: Case, result: Result) -> list[Result]:
        """Compares a profile with that of the same program before a change, if this is a variant `after`."""
        key = (case.program, result.jvm, result.run, result.who)
        if case.kind != "cpu" or result.reason:
            return []
        if not case.variant:
            self.before[key] = result.findings
        if case.variant != "after" or key not in self.before:
            return []
        changed = truths.changes(self.before[key], result.findings)
        return [dataclasses.replace(result, case=f"{case.program}:change", findings=changed)]

    def findings(self, module, run: runs.Run) -> list[truths.Finding]:
        """Runs a program and compares what the tool says with what the program does."""
        if run.case.kind == "answers":
            return self.answer_findings(run)
        runs.execute(run, module)
        known = truths.parse(run.output)
        facts = graph.facts(run.output)
        if not known and not facts:
            raise CannotRun(f"the program printed no truth: {run.output[-200:]!r}")
        answer = module.answer(run)
        if run.case.kind == "heap":
            return self.heap_findings(module, run, answer, known, facts)
        if run.case.kind == "leaks":
            return self.leak_findings(run, answer, facts)
        findings = truths.compare(known, answer)
        for kind in self.spoils(run.case.kind):
            spoiled = copy.deepcopy(answer)
            applies = spoil.spoil(kind, spoiled, known)
            self.caught(kind, applies, run.case, truths.compare(known, spoiled), findings)
        return findings

    def spoils(self, kind: str) -> list[str]:
        """Returns the ways in which answers of this kind are spoiled in this call."""
        wanted = [self.arguments.spoil] if self.arguments.spoil else list(spoil.KINDS) if self.arguments.reduced else []
        return [name for name in wanted if kind in spoil.KINDS[name][1]]

    def caught(self, kind: str, applies: bool, case: Case, spoiled: list[truths.Finding], findings: list[truths.Finding]) -> None:
        """Counts a spoiled answer, and whether it is found to be wrong; with --spoil it takes the place of the tool's."""
        if applies:
            is_found = any(finding.right is False for finding in spoiled)
            with self.lock:
                count = self.spoiled.setdefault(kind, [0, 0])
                count[0] += is_found
                count[1] += 1
            if not is_found:
                self.missed.append(
                    f"{case.kind} {case.name}: the answer was spoiled ({kind}: {spoil.KINDS[kind][0]}), and nothing was found wrong"
                )
        if self.arguments.spoil:
            findings[:] = spoiled

    def answer_findings(self, run: runs.Run) -> list[truths.Finding]:
        """Asks the questions about a program, and holds each view to its truths."""
        findings = []
        for view in questions.ask(run):
            of_view = truths.compare(view.known, view.answer)
            for kind in self.spoils("answers"):
                spoiled = copy.deepcopy(view.answer)
                applies = spoil.spoil(kind, spoiled, view.known)
                self.caught(kind, applies, run.case, truths.compare(view.known, spoiled), of_view)
            for finding in of_view:
                finding.what = f"{view.name}: {finding.what}"
            findings += of_view
        return findings

    def leak_findings(self, run: runs.Run, answer: Answer, facts: list) -> list[truths.Finding]:
        findings = leaks.compare(facts, answer.suspects)
        for kind in self.spoils("leaks"):
            applies, spoiled = leaks.spoil(kind, answer.suspects, facts)
            self.caught(kind, applies, run.case, leaks.compare(facts, spoiled), findings)
        return findings

    def heap_findings(self, module, run: runs.Run, answer: Answer, known: list, facts: list) -> list[truths.Finding]:
        try:
            heap = dump.read(answer.dump)
        except (OSError, dump.Broken) as error:
            return [truths.Finding("the dump", "sound", str(error), None, False)]
        findings = self.of_heap(module, run, heap, known, facts)
        for kind in [] if hasattr(module, "READS_ONLY") else self.spoils("heap"):
            applies = graph.wrong_edge(heap)
            self.caught(kind, applies, run.case, graph.compare(facts, heap), findings)
        return findings

    def of_heap(self, module, run: runs.Run, heap: dump.Heap, known: list, facts: list) -> list[truths.Finding]:
        counted = Answer(
            [Row((), name, None, {"live_objects": count}) for name, count in heap.counts().items()],
            frozenset({"live_objects"}),
        )
        counted.has_stacks = False
        findings = [] if hasattr(module, "READS_ONLY") else graph.compare(facts, heap) + truths.compare(known, counted)
        for kind, name in facts:
            if kind == "retained" and run.mode == "":
                said = module.retained(run, name) if hasattr(module, "retained") else None
                layout = tuple(int(word) for word in self.places.layout(run.jvm).split())
                findings += graph.check_retained(heap, layout, name, said, RETAINED[self.arguments.reduced])
        return findings

    def conformance(self, modules: dict) -> list[Result]:
        """Holds readers to the corpus."""
        made = corpus.make(self.new_folder("corpus"))
        results = []
        for module in modules.values():
            for mode, options in self.modes(module, "conformance"):
                runs.note(f"conformance: {module.NAME} {mode}".rstrip())
                result = Result("conformance", "corpus", "", 1, module.NAME, mode, "", [])
                try:
                    module.find(self.places)
                    result.version = module.version(self.places)
                    case = Case("conformance", "corpus", "", (), 11)
                    run = runs.Run(case, mode, options, self.compiler, self.new_folder(module.NAME), self.places)
                    paths = [path for _, path in made]
                    if hasattr(module, "verdicts"):
                        verdicts = module.verdicts(paths, run)
                    else:
                        verdicts = {path: module.verdict(path, run) for path in paths}
                    scope = self.scope(module)
                    result.findings = conformance.compare(made, verdicts, scope)
                    for kind in self.spoils("conformance"):
                        applies = kind == "refuse" or scope.checks
                        self.caught(kind, applies, case, conformance.compare(made, verdicts, scope, kind), result.findings)
                except CannotRun as error:
                    result.reason = str(error)
                    runs.note(f"    {error}")
                results.append(result)
        return results

    def scope(self, module) -> conformance.Scope:
        section = self.options[f"{module.NAME} conformance"]
        versions = tuple(section.get("versions").split())
        return conformance.Scope(section.getboolean("checks"), section.getboolean("profiles"), section.getboolean("gzip"), versions)

    def new_folder(self, name: str) -> pathlib.Path:
        folder = self.folder / name
        folder.mkdir()
        return folder


def places(suite: Suite) -> runs.Places:
    """Returns where the tools are: by the environment as `scripts/test` sets it, or as `scripts/fetch` and cargo leave them."""
    root = FOLDER.parent
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    classes = suite.new_folder("classes")
    newest = max([*suite.jvms, suite.compiler], key=lambda jvm: jvm.feature)
    return runs.Places(
        root=root,
        agent=pathlib.Path(os.environ.get("HPROF_AGENT", target / "release/libhprof.so")).resolve(),
        cli=pathlib.Path(os.environ.get("HPROF_CLI", target / "release/hprof")).resolve(),
        tools=target / "tools",
        programs=pathlib.Path(os.environ.get("HPROF_PROGRAMS", target / "programs")),
        classes=classes,
        newest=newest,
        scale=REDUCED_SCALE if suite.arguments.reduced else suite.arguments.work,
    )


def default_home() -> pathlib.Path:
    import shutil

    if os.environ.get("JAVA_HOME"):
        return pathlib.Path(os.environ["JAVA_HOME"])
    java = shutil.which("java")
    if java is None:
        raise CannotRun("there is no java on PATH; name a JVM with --jdk")
    return pathlib.Path(java).resolve().parent.parent
