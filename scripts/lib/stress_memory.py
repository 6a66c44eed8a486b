#!/usr/bin/env python3
"""Programs whose agent gets no memory: they must end as without it, and what was written must be readable.

Twice, in every mode and on every JVM: with a malloc that fails for the agent alone (failing_malloc.c, preloaded), and with
`ulimit -v` in steps, once from the start and once with an agent that is attached. Under `ulimit -v` the VM itself finds no memory,
too, and ends the process then. Such a run is known by the VM's own words, and counted by itself: as the VM's (`vm`), or as the
VM's inside a call of the agent (`call`) where the error file's stack names the agent's library. The second table says what became
of each limit, with the runs without the agent beside it.

Exits 1 if a run was bad: the agent's own allocator or the system's library on its behalf ended the program, the program ended
otherwise than without the agent, hung, or left a file that cannot be read.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

MODES = {
    "sites": "heap=sites,format=b",
    "all": "heap=all,format=b",
    "walk": "heap=all,dumper=jvmti,format=b",
    "samples": "cpu=samples,interval=1,format=b",
    "all+samples": "heap=all,cpu=samples,format=b",
    "times": "cpu=times",
    "monitor": "monitor=y,heap=sites",
}
# The calls that the preloaded malloc refuses: one in so many, all from the nth on, or only large ones.
FAILURES = [
    *({"ONE_IN": one_in, "SEED": seed} for one_in in (300, 3_000, 30_000) for seed in (1, 2)),
    *({"FROM": first} for first in (0, 3, 30, 300, 3_000, 30_000)),
    *({"FROM": first, "TIMES": 1} for first in (10, 1_000, 10_000)),
    *({"ONE_IN": 2, "LEAST": 65_536, "SEED": seed} for seed in (1, 2)),
]
# Seconds after which a run is taken for hung; on a machine that is busy with other things one may take a minute.
TIMEOUT = 300
HEAP = ["-Xmx64m", "-XX:ReservedCodeCacheSize=32m", "-XX:CompressedClassSpaceSize=32m", "-XX:+UseSerialGC"]
STEP = 16
VM_OUT_OF_MEMORY = re.compile(
    r"insufficient memory for the Java Runtime|Native memory allocation|OutOfMemoryError|unable to create native thread"
    r"|Could not (?:reserve|allocate)|Error occurred during initialization of VM|Unable to allocate|pthread_create failed"
    r"|Failed to (?:reserve|commit|map|start)|failed to map segment|cannot allocate memory|Cannot create (?:GC|worker|VM) thread"
)
AGENT_ALLOCATOR = "memory allocation of "
# Of the system's library where it has no memory for what a thread keeps, the agent's or the VM's: HotSpot's library keeps something
# for each thread in the same way. Under `ulimit -v`, thread_data.c is preloaded, which tells whose it was.
THREAD_STORAGE = ("failed to register TLS destructor", "cannot allocate memory for thread-local data")
AGENT_FRAME = re.compile(r"^C  \[libhprof\.so", re.MULTILINE)
LETTERS = {"well": ".", "ended": "e", "refused": "r", "vm": "v", "call": "c", "bad": "B"}


class Runner:
    def __init__(self, arguments):
        self.agent = arguments.agent
        self.hprof = arguments.hprof
        self.classes = arguments.classes
        self.malloc = arguments.malloc
        self.thread_data = arguments.thread_data
        self.rounds = arguments.rounds
        self.folder = pathlib.Path(arguments.folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)

    def run(self, name, home, options, environment=(), limit=None, attach=False):
        """One program; answers what became of it, and why if that is bad."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.folder))
        output = folder / "x.out"
        command = [f"{home}/bin/java", *HEAP, f"-XX:ErrorFile={folder}/hs_err.log", "-XX:-CreateCoredumpOnCrash"]
        if options and not attach:
            command.append(f"-agentpath:{self.agent}={options},file={output}")
        command += ["-cp", self.classes, "Shortage", str(self.rounds)]
        if options and attach:
            command.append("attached")
        if limit:
            command = ["bash", "-c", f'ulimit -v {limit * 1024}; exec "$@"', "bash", *command]
        surroundings = dict(os.environ, **dict(environment))
        if limit:
            (folder / "asking").write_bytes(b"\0")
            surroundings |= {"LD_PRELOAD": self.thread_data, "HPROF_THREAD_DATA": str(folder / "asking")}
        with open(folder / "stdout", "wb") as stdout, open(folder / "stderr", "wb") as stderr:
            # Where compilers that find no memory leave files of their own.
            program = subprocess.Popen(
                command, cwd=folder, stdout=stdout, stderr=stderr, stdin=subprocess.DEVNULL, env=surroundings,
            )
            if options and attach:
                self.attach(program, folder, f"{options},file={output}")
            try:
                status = program.wait(TIMEOUT)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()
                status = "hung"
        outcome, why = self.judge(folder, output, status, options)
        if outcome == "bad":
            kept = self.folder / f"bad-{name}"
            shutil.rmtree(kept, ignore_errors=True)
            folder.rename(kept)
            return outcome, f"{why}; see {kept}"
        shutil.rmtree(folder)
        return outcome, why

    def attach(self, program, folder, options):
        end = time.monotonic() + 20
        while program.poll() is None and time.monotonic() < end and b"begun" not in (folder / "stdout").read_bytes():
            time.sleep(0.02)
        command = [self.hprof, "attach", "--agent", self.agent, str(program.pid), options]
        with open(folder / "attach", "wb") as answer:
            try:
                subprocess.run(command, stdout=answer, stderr=answer, timeout=TIMEOUT, check=False)
            except subprocess.TimeoutExpired:
                pass
        # The program waits for it.
        (folder / "attached").touch()

    def judge(self, folder, output, status, options):
        said = (folder / "stderr").read_text(errors="replace")
        printed = (folder / "stdout").read_text(errors="replace")
        crash = folder / "hs_err.log"
        crash = crash.read_text(errors="replace") if crash.exists() else ""
        if AGENT_ALLOCATOR in said + crash:
            return "bad", "an allocation of the agent ended the program"
        if options and not crash and any(words in said for words in THREAD_STORAGE):
            asking = folder / "asking"
            if not asking.exists() or asking.read_bytes() != b"\0":
                return "bad", "a thread's storage ended the program, which the agent asked for"
            return "vm", ""
        # A promise at the end of a program that its own error has ended keeps nobody.
        before_own_error, _, _ = said.partition("Exception in thread ")
        if status != 0 and "goes on" in before_own_error:
            return "bad", "it promised that the program continues"
        if status == 0 and "done" in printed:
            return self.judge_file(output, said, options)
        if status == 1 and "begun" not in printed and "hprof: " in said:
            return "refused", ""
        if VM_OUT_OF_MEMORY.search(said + printed + crash):
            return ("call" if AGENT_FRAME.search(crash) else "vm"), ""
        return "bad", f"status {status}: {said[-300:]}"

    def judge_file(self, output, said, options):
        if "panicked" in said or "fault of the agent" in said:
            return "bad", "a fault of the agent"
        if not options or not output.exists() or output.stat().st_size == 0:
            return "well", ""
        ended = "; the profile ends here" in said
        if "format=b" in options:
            checked = subprocess.run([self.hprof, "check", output], capture_output=True, text=True, check=False)
            if checked.returncode != 0 and not any(words in checked.stderr for words in ("broke off", "a heap dump is announced")):
                return "bad", f"hprof check: {checked.stderr[-300:]}"
        return ("ended" if ended else "well"), ""


def least_memory(runner, home):
    """The least `ulimit -v` in MB, a multiple of the step, at which the program alone ends well."""
    low, high = 0, 16_384 // STEP
    while high - low > 1:
        middle = (low + high) // 2
        well = runner.run("bare", home, None, limit=middle * STEP)[0] == "well"
        low, high = (low, middle) if well else (middle, high)
    return high * STEP


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("agent", "hprof", "classes", "malloc", "thread-data", "folder"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--jvm", action="append", required=True, help="feature=home")
    parser.add_argument("--rounds", type=int, default=200, help="how long the program continues")
    parser.add_argument("--steps", type=int, default=24, help="limits, from the least that the program needs on")
    parser.add_argument("--first", type=int, help="the first limit in MB, if it is not that which the program needs")
    parser.add_argument("--seeds", type=int, default=1, help="rounds of the preloaded malloc, each with seeds of its own")
    parser.add_argument("--mode", action="append", choices=MODES)
    parser.add_argument("--parallel", type=int, default=2)
    arguments = parser.parse_args()
    runner = Runner(arguments)
    table = collections.defaultdict(collections.Counter)
    by_limit = collections.defaultdict(dict)
    bad = []
    modes = arguments.mode or list(MODES)
    with concurrent.futures.ThreadPoolExecutor(arguments.parallel) as pool:
        runs = []

        def start(key, name, *what, **how):
            runs.append((key, name, how.get("limit"), pool.submit(runner.run, name, *what, **how)))

        for jvm in arguments.jvm:
            feature, home = jvm.split("=", 1)
            for mode, (number, failure), round_ in itertools.product(modes, enumerate(FAILURES), range(arguments.seeds)):
                environment = {f"HPROF_MALLOC_{key}": str(value) for key, value in failure.items()}
                environment["HPROF_MALLOC_SEED"] = str(failure.get("SEED", 1) + 100 * round_)
                environment["LD_PRELOAD"] = arguments.malloc
                start((feature, mode, "malloc"), f"{feature}-{mode}-malloc-{number}-{round_}", home, MODES[mode], environment)
            if arguments.steps == 0:
                continue
            least = arguments.first or least_memory(runner, home)
            print(f"{feature}: from {least} MB on", flush=True)
            for step in range(arguments.steps):
                limit = least + step * STEP
                start((feature, "-", "bare"), f"{feature}-bare-{limit}", home, None, limit=limit)
                for mode, way in itertools.product(modes, ("start", "attach")):
                    name = f"{feature}-{mode}-{way}-{limit}"
                    start((feature, mode, way), name, home, MODES[mode], limit=limit, attach=way == "attach")
        for key, name, limit, run in runs:
            outcome, why = run.result()
            table[key][outcome] += 1
            if limit:
                by_limit[key][limit] = LETTERS[outcome]
            if outcome == "bad":
                bad.append(f"{name}: {why}")
                print(f"bad: {bad[-1]}", flush=True)
    kinds = tuple(LETTERS)
    print(f"{'JVM':4} {'mode':12} {'way':8}" + "".join(f"{kind:>8}" for kind in kinds))
    for (feature, mode, way), outcomes in sorted(table.items()):
        print(f"{feature:4} {mode:12} {way:8}" + "".join(f"{outcomes[kind]:8}" for kind in kinds))
    print(
        "well: as without the agent; ended: the profile ended early and said so; refused: the agent did not start; "
        "vm: the VM itself found no memory; call: it found none in a call of the agent"
    )
    if by_limit:
        print(f"\nEach limit, {STEP} MB apart, from the least on: " + ", ".join(f"{letter} {kind}" for kind, letter in LETTERS.items()))
    for (feature, mode, way), outcomes in sorted(by_limit.items()):
        letters = "".join(outcomes[limit] for limit in sorted(outcomes))
        print(f"{feature:4} {mode:12} {way:8} {min(outcomes):6} MB  {letters}")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
