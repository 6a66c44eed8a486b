"""The cases: Java programs in `truth/cases/KIND/`, each of which prints its own truth."""

from __future__ import annotations

import dataclasses
import pathlib
import re
import shutil
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "cases"
KINDS = {
    "cpu": "CPU samples: how the CPU time is divided between methods",
    "alloc": "allocations: objects and bytes by method, class and thread, and what of them is live",
    "calls": "how often methods are called, and their own time",
    "locks": "waits for locks, Object.wait and sleeps: how often, where, and how long",
    "wall": "wall-clock samples: where threads are, and in which state",
    "lifetimes": "how long objects live, and how old those are that are alive",
    "heap": "heap dumps: a known graph, value by value and edge by edge",
    "leaks": "leak suspects: twenty programs that leak, and twenty that do not",
    "answers": "the questions of README's table: what the terminal, the page and every export answer",
    "conformance": "files of every record of the HPROF format, sound and broken, and what a reader must say",
    "cost": "how much longer programs take under each tool, beside the errors of its answers",
}
# `// needs: java 21`, `// vm: -Xint`, `// variant NAME: -Xint`, `// only variants`, `// library: NAME.c`,
# `// asks: QUESTION...` before the class.
NEEDS = re.compile(r"^// needs: java (\d+)$", re.M)
VM = re.compile(r"^// vm: (.+)$", re.M)
VARIANT = re.compile(r"^// variant (\w+): (.+)$", re.M)
ONLY_VARIANTS = re.compile(r"^// only variants$", re.M)
ASKS = re.compile(r"^// asks: (.+)$", re.M)
LIBRARY = re.compile(r"^// library: (\w+)\.c$", re.M)


@dataclasses.dataclass(frozen=True)
class Case:
    """One program, with what the VM is told besides."""

    kind: str
    program: str
    variant: str
    vm: tuple[str, ...]
    needs: int
    # The source in C of its native methods, without `.c`.
    library: str = ""
    # The questions of `answers` that are asked about it.
    asks: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.program}:{self.variant}" if self.variant else self.program


def find() -> list[Case]:
    """Returns all cases of all kinds that are programs, in the order of the kinds."""
    cases = []
    for kind in KINDS:
        for source in sorted((FOLDER / kind).glob("*.java")):
            text = source.read_text(encoding="utf-8")
            needs = NEEDS.search(text)
            vm = VM.search(text)
            plain = tuple(vm[1].split()) if vm else ()
            least = int(needs[1]) if needs else 11
            library = found[1] if (found := LIBRARY.search(text)) else ""
            asks = tuple(asked[1].split()) if (asked := ASKS.search(text)) else ()
            if not ONLY_VARIANTS.search(text):
                cases.append(Case(kind, source.stem, "", plain, least, library, asks))
            cases += [Case(kind, source.stem, name, (*plain, *more.split()), least, library) for name, more in VARIANT.findall(text)]
    return cases


def compile_all(javac_home: pathlib.Path, classes: pathlib.Path, chosen: list[Case]) -> None:
    """Compiles the programs, each for the oldest Java that it needs, and what they share for the oldest of all."""
    sources: dict[int, set[pathlib.Path]] = {11: {FOLDER / "Truth.java"}}
    for case in chosen:
        sources.setdefault(case.needs, set()).add(FOLDER / case.kind / f"{case.program}.java")
    for release, files in sorted(sources.items()):
        # `+` of strings is compiled in line, because its other form allocates when it is first used.
        command = [javac_home / "bin/javac", "-nowarn", "-Xlint:-options", "-XDstringConcat=inline", "-g"]
        command += ["--release", release, "-encoding", "UTF-8", "-d", classes, "-cp", classes, *sorted(files)]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"truth/run: {javac_home} could not compile the cases:\n{done.stdout}{done.stderr}")
    compile_libraries(classes, chosen)


def library(classes: pathlib.Path, case: Case) -> pathlib.Path:
    return classes / f"lib{case.library}.so"


def compile_libraries(classes: pathlib.Path, chosen: list[Case]) -> None:
    """Compiles native methods, if there is a C compiler; a case whose library is missing cannot run."""
    compiler = next(filter(None, map(shutil.which, ("cc", "gcc", "clang"))), None)
    for case in chosen if compiler else ():
        if not case.library or library(classes, case).exists():
            continue
        source = FOLDER / case.kind / f"{case.library}.c"
        command = [compiler, "-shared", "-fPIC", "-O1", "-o", library(classes, case), source]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"truth/run: {compiler} could not compile {source}:\n{done.stderr}")
