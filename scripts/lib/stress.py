#!/usr/bin/env python3
"""The runs of scripts/stress, whose help says what they are."""

import argparse
import collections
import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time

OPTIONS = "cpu=samples,heap=sites,monitor=y,thread=y,verbose=n,file=profile.txt"
TIMINGS = ("steady", "always", "end")
TIMEOUT = 120
# Some collectors never answer a request that comes while the VM goes down; the agent says so then.
CUT_OFF = "hprof: another requested dump is still running; this one is skipped\n"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--kinds", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--hours", type=float)
    parser.add_argument("--life", type=int, required=True)
    parser.add_argument("--parallel", type=int, required=True)
    return parser.parse_args()


class Run:
    """One run of the program."""

    def __init__(self, options, number, kind):
        self.options = options
        self.feature, self.home, self.collector = kind
        self.timing = TIMINGS[number // options.kinds_count % len(TIMINGS)]
        self.random = random.Random(number)
        self.folder = options.folder / "running" / str(number)
        self.folder.mkdir(parents=True)

    def command(self):
        return [
            f"{self.home}/bin/java", f"-agentpath:{self.options.agent}={OPTIONS}",
            "-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{self.collector}GC", "-Xmx256m",
            "-cp", self.options.classes, "Storm", str(self.options.life),
        ]

    def fault(self):
        """Returns what was wrong with the run; nothing if all was well."""
        with open(self.folder / "stdout", "wb") as stdout, open(self.folder / "stderr", "wb") as stderr:
            program = subprocess.Popen(
                self.command(), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, preexec_fn=with_core,
            )
        if not self.ask_for_dumps(program):
            program.send_signal(signal.SIGABRT)
            program.wait()
            return "dead", "hangs"
        if program.returncode < 0:
            return "dead", signal.Signals(-program.returncode).name
        said = (self.folder / "stderr").read_text(errors="replace")
        if program.returncode != 0 or said.replace(CUT_OFF, "") != "storm 0\n":
            return "dead", f"exit {program.returncode}: {said[-200:]!r}"
        check = [sys.executable, pathlib.Path(__file__).with_name("check_order.py"), self.folder / "profile.txt"]
        order = subprocess.run(check, capture_output=True, text=True)
        if order.returncode != 0:
            return "disordered", (order.stdout or order.stderr).strip()
        return None

    def ask_for_dumps(self, program):
        """Until the program ends; whether it does so in time. A VM that does not yet catch the signal would be ended by it."""
        begun = time.monotonic()
        asks = False
        while program.poll() is None:
            lived = time.monotonic() - begun
            if lived > TIMEOUT:
                return False
            asks = asks or catches_quit(program.pid)
            if not asks:
                time.sleep(0.002)
                continue
            if self.timing == "end" and lived < self.options.life / 1000:
                time.sleep(0.01)
                continue
            program.send_signal(signal.SIGQUIT)
            time.sleep(0.1 if self.timing == "steady" else self.random.random() * 0.01)
        return True


def with_core():
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))


def catches_quit(pid):
    try:
        with open(f"/proc/{pid}/status") as status:
            caught = next(line for line in status if line.startswith("SigCgt:"))
    except (OSError, StopIteration):
        return False
    return bool(int(caught.split()[1], 16) >> (signal.SIGQUIT - 1) & 1)


class Stress:
    """All runs."""

    def __init__(self, options):
        self.options = options
        with open(options.kinds) as kinds:
            self.kinds = [tuple(line.split()) for line in kinds]
        options.kinds_count = len(self.kinds)
        self.lock = threading.Lock()
        self.next = 0
        self.counts = collections.Counter()
        self.end = time.monotonic() + options.hours * 3600 if options.hours else None

    def take(self):
        with self.lock:
            over = time.monotonic() >= self.end if self.end else self.next >= self.options.runs
            if over:
                return None
            self.next += 1
            return self.next - 1

    def work(self):
        while (number := self.take()) is not None:
            kind = self.kinds[number % len(self.kinds)]
            run = Run(self.options, number, kind)
            fault = run.fault()
            with self.lock:
                self.counts[kind, "runs"] += 1
                if fault:
                    self.keep(run, kind, *fault)
            if not fault:
                shutil.rmtree(run.folder)

    def keep(self, run, kind, what, why):
        self.counts[kind, what] += 1
        name = f"{time.strftime('%Y%m%d-%H%M%S')}-{run.feature}-{run.collector}-{run.folder.name}"
        kept = self.options.folder / "kept" / name
        shutil.move(run.folder, kept)
        print(f"{what}: JDK {run.feature}, {run.collector}, requests {run.timing}: {why}; kept in {kept}", flush=True)

    def table(self):
        print("\n| JVM | collector | runs | dead | disordered |\n|---|---|---|---|---|")
        for kind in self.kinds:
            cells = [self.counts[kind, what] for what in ("runs", "dead", "disordered")]
            print(f"| {kind[0]} | {kind[2]} |", " | ".join(map(str, cells)), "|")
        total = [sum(self.counts[kind, what] for kind in self.kinds) for what in ("runs", "dead", "disordered")]
        print("| all | |", " | ".join(map(str, total)), "|")
        return total[1] + total[2] == 0


def main():
    stress = Stress(arguments())
    workers = [threading.Thread(target=stress.work) for _ in range(stress.options.parallel)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(0 if stress.table() else 1)


if __name__ == "__main__":
    main()
