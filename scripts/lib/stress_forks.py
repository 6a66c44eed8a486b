#!/usr/bin/env python3
"""Dumps the heap of a program in a forked child, again and again, while storms rage in the program.

    stress_forks.py --agent FILE --classes DIR --kinds FILE --storm-agent JAR --library FILE --folder DIR --forks N [--parallel N]

--kinds has lines `<feature> <home> <collector>`. Runs java-tests/dump/Invariants.java in each kind with each storm, and looks in
every dump for what holds at any moment. In two of the settings children are killed at random moments, or the program is. Prints a
row for each JVM and setting: the forks, the dumps that were whole and kept what holds, those that the program made instead because
there was no child, or because it ended, and the faults. Exits 1 if there was a fault; what such a run left stays in --folder.
"""

import argparse
import collections
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import threading
import time

import dump_invariants

DUMPS = 20
# Longer than a child without progress lives, and a dump in its place takes.
LIMIT = 90
SAID = re.compile(r"Java heap \(by (.*?)(?:: (.*))?; the program stood still for (\d+) ms\)")
DUMPED = re.compile(r"Dumping Java heap \.\.\. (done|failed)\.")
CHILD = "JVMTI in a forked child"
KNOWN = re.compile(r"hprof: |Dumping Java heap|Java heap \(|Picked up |OpenJDK 64-Bit|\[\d|WARNING: |$")


def settings(options):
    """Name: the program's storms, the VM's options."""
    native = f"native={options.library}"
    return {
        "quiet": ([], []),
        "class unloading": (["classes", "collect"], []),
        "redefinition": (["redefine"], [f"-javaagent:{options.storm_agent}"]),
        "full code cache": (["classes"], ["-XX:ReservedCodeCacheSize=5m", "-XX:-SegmentedCodeCache"]),
        "flight recorder": (["collect"], ["-XX:StartFlightRecording=settings=profile,filename=beside.jfr"]),
        "logging": (["collect"], ["-Xlog:all=debug:file=vm.log:uptime:filecount=2,filesize=4m"]),
        "native memory tracking": ([native, "collect"], ["-XX:NativeMemoryTracking=detail"]),
        "malloc": ([native], []),
        "many threads": ([f"threads={options.threads}"], ["-Xss256k"]),
        "short threads": (["short"], []),
        "everything": (["classes", "redefine", "collect", "short", native], [f"-javaagent:{options.storm_agent}"]),
        "children killed": (["collect"], []),
        "program killed": (["collect"], []),
    }


class Fault(Exception):
    pass


class Run:
    """A program, and its dumps."""

    def __init__(self, options, kind, setting, folder):
        self.options, self.setting, self.folder = options, setting, folder
        feature, home, collector = kind
        storms, vm_options = settings(options)[setting]
        folder.mkdir(parents=True)
        agent = f"-agentpath:{options.agent}=heap=dump,dumper=fork,format=b,doe=n,file=x.hprof"
        collector = ["-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{collector}GC"]
        command = [f"{home}/bin/java", agent, *collector, "-Xmx256m", *vm_options, "-cp", options.classes, "Invariants", *storms]
        with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
            self.program = subprocess.Popen(command, cwd=folder, stdout=out, stderr=err, start_new_session=True)
        self.wait("the program", lambda: "ready\n" in self.out())

    def out(self):
        return (self.folder / "out").read_text(errors="replace")

    def err(self):
        return (self.folder / "err").read_text(errors="replace")

    def wait(self, what, condition):
        end = time.monotonic() + LIMIT
        while not condition():
            if self.program.poll() is not None and not condition():
                raise Fault(f"the program ended with {self.program.returncode} before {what}")
            if time.monotonic() > end:
                raise Fault(f"no end of {what}")
            time.sleep(0.002)

    def ask(self):
        self.program.send_signal(signal.SIGQUIT)

    def dump(self, number):
        self.ask()
        if self.setting == "children killed":
            self.kill_child(number)
        self.wait(f"dump {number}", lambda: len(DUMPED.findall(self.err())) >= number)

    def processes(self):
        """The processes of the program's session that have not ended, and zombies of the program."""
        found = []
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                pid, rest = stat.read_text().split(" ", 1)
            except OSError:
                continue
            state, parent, group = rest.rsplit(") ", 1)[1].split(" ", 3)[:3]
            if int(group) == self.program.pid and (state != "Z" or int(parent) == self.program.pid):
                found.append(int(pid))
        return found

    def children(self):
        return [pid for pid in self.processes() if pid != self.program.pid]

    def kill_child(self, number):
        while len(DUMPED.findall(self.err())) < number:
            if found := self.children():
                time.sleep(random.uniform(0, 0.3))
                for pid in found:
                    try:
                        os.kill(pid, signal.SIGKILL)
                    except ProcessLookupError:
                        pass
                return

    def end(self):
        """Ends the program well, and looks at all that it leaves."""
        end = time.monotonic() + 5
        while left := self.children():
            if time.monotonic() > end:
                raise Fault(f"a child is left: {left}")
            time.sleep(0.01)
        (self.folder / "go").touch()
        self.wait("the end", lambda: self.program.poll() is not None)
        if self.program.returncode != 0 or "\ndone\n" not in self.out():
            raise Fault(f"status {self.program.returncode}")
        for line in self.err().splitlines():
            if not KNOWN.match(line):
                raise Fault(f"it said: {line}")
        known = {"x.hprof", "out", "err", "go", "beside.jfr"}
        others = [file.name for file in self.folder.iterdir() if file.name not in known and not file.name.startswith("vm.log")]
        if others:
            raise Fault(f"files are left: {others}")

    def kill(self, seconds):
        """Kills the program within so many seconds after it was asked for a dump."""
        self.ask()
        time.sleep(random.uniform(0, seconds))
        self.program.kill()
        self.program.wait()
        end = time.monotonic() + 5
        while left := self.processes():
            if time.monotonic() > end:
                raise Fault(f"it is survived by {left}")
            time.sleep(0.01)

    def abandon(self):
        if self.program.poll() is None:
            # The VM says where its threads are, if it can.
            self.ask()
            time.sleep(1)
        try:
            os.killpg(self.program.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.program.wait()


def dump_all(run, counts):
    for number in range(1, DUMPS + 1):
        run.dump(number)
    run.end()
    said = SAID.findall(run.err())
    if "failed" in DUMPED.findall(run.err()) or len(said) != DUMPS:
        raise Fault(f"{len(said)} of {DUMPS} dumps were made")
    for dumper, reason, _ in said:
        counts["forked" if dumper == CHILD else f"instead: {reason}"] += 1
    found = dump_invariants.read(run.folder / "x.hprof")
    if found.whole != DUMPS or found.is_cut:
        raise Fault(f"the file has {found.whole} of {DUMPS} dumps")
    counts["kept"] += found.whole
    if found.faults:
        raise Fault(f"{found.faults[0]}, and {len(found.faults) - 1} more")


def kill_program(run, counts):
    # How long a dump takes.
    begun = time.monotonic()
    run.dump(1)
    run.kill(1.2 * (time.monotonic() - begun))
    found = dump_invariants.read(run.folder / "x.hprof")
    counts["forked"] += 1
    counts["program killed: " + ("cut" if found.is_cut else {1: "none", 2: "whole"}[found.whole])] += 1
    counts["kept"] += found.whole
    if found.faults:
        raise Fault(found.faults[0])


class Stress:
    def __init__(self, options):
        self.options = options
        with open(options.kinds) as kinds:
            kinds = [tuple(line.split()) for line in kinds]
        # ZGC's heap is mapped shared, so that there is no fork.
        kinds = [kind for kind in kinds if kind[2] != "Z"]
        self.cells = [(kind, setting) for setting in settings(options) for kind in kinds if not options.only or setting in options.only]
        random.shuffle(self.cells)
        self.lock = threading.Lock()
        self.counts = collections.defaultdict(collections.Counter)
        self.next = 0

    def take(self):
        with self.lock:
            forks = sum(counts["forked"] for counts in self.counts.values())
            is_over = forks >= self.options.forks or self.options.end and time.monotonic() > self.options.end
            if is_over and self.next >= self.options.least * len(self.cells):
                return None
            self.next += 1
            return self.next, self.cells[self.next % len(self.cells)]

    def work(self):
        while taken := self.take():
            number, (kind, setting) = taken
            folder = self.options.folder / str(number)
            counts, run = collections.Counter(), None
            try:
                run = Run(self.options, kind, setting, folder)
                (kill_program if setting == "program killed" else dump_all)(run, counts)
                shutil.rmtree(folder)
            except Fault as fault:
                counts["faults"] += 1
                print(f"JDK {kind[0]}, {kind[2]}, {setting}: {fault}; {folder} stays", file=sys.stderr, flush=True)
            finally:
                if run is not None:
                    run.abandon()
            with self.lock:
                self.counts[kind[0], kind[2], setting] += counts

    def table(self):
        groups = collections.defaultdict(collections.Counter)
        for (feature, collector, setting), counts in self.counts.items():
            for group in [(feature, collector, "all"), (feature, "all", setting), ("all", "all", "all")]:
                groups[group] += counts
        print("| JVM | collector | setting | forks | whole dumps | faults | else |\n|---|---|---|---|---|---|---|")
        for group, counts in sorted(groups.items()):
            other = sorted(what for what in counts if what not in ("forked", "kept", "faults"))
            other = "; ".join(f"{what}: {counts[what]}" for what in other)
            print("|", " | ".join([*group, str(counts["forked"]), str(counts["kept"]), str(counts["faults"]), other]), "|")
        return groups["all", "all", "all"]["faults"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["agent", "classes", "kinds", "storm-agent", "library", "folder"]:
        parser.add_argument(f"--{name}", required=True, type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--forks", type=int, required=True)
    parser.add_argument("--parallel", type=int, default=1)
    parser.add_argument("--threads", type=int, default=5000, help="those of the setting `many threads`")
    parser.add_argument("--least", type=int, default=0, help="the least runs of each setting, however many forks there were")
    parser.add_argument("--only", action="append", help="a setting; all without it")
    parser.add_argument("--hours", type=float, help="no run begins after so many hours")
    options = parser.parse_args()
    options.end = time.monotonic() + options.hours * 3600 if options.hours else None
    shutil.rmtree(options.folder, ignore_errors=True)
    stress = Stress(options)
    workers = [threading.Thread(target=stress.work) for _ in range(options.parallel)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    sys.exit(0 if stress.table() else 1)


if __name__ == "__main__":
    main()
