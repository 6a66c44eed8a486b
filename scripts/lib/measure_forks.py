#!/usr/bin/env python3
"""Measures for how long heap dumps stop a program: in a forked child, in the ordinary way, and the VM's own, in turn.

    measure_forks.py --rounds N --home JDK --collector NAME --hprof COMMAND --objects N --classes DIRECTORY [--heap SIZE]

java-tests/dump/Pauses.java holds the objects; the agent is attached to it. Prints a line for each way, tab-separated, with medians over
the rounds: its name, the longest time in ms for which the program stood still, by the program's own clock; the ms that the command
said; the seconds until the dump was whole; the share of its looks that the program did in that time, but for the longest gap, of those that
it does in peace; the CPU seconds of the dump, in the program, its child and jcmd; and the MB by which the memory of both rose at most.
"""

import argparse
import os
import pathlib
import re
import resource
import statistics
import subprocess
import tempfile
import threading
import time

import measure_dump

SAID = re.compile(r"Java heap \(by (.*?)[;:].*stood still for (\d+) ms\)")
TICKS = os.sysconf("SC_CLK_TCK")


class Program:
    def __init__(self, options, folder: pathlib.Path):
        self.options, self.folder = options, folder
        self.out, self.err = folder / "out", folder / "err"
        command = [f"{options.home}/bin/java", "-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{options.collector}GC"]
        command += [f"-Xms{options.heap}", f"-Xmx{options.heap}", "-cp", options.classes, "Pauses", str(options.objects)]
        self.process = subprocess.Popen(command, stdout=self.out.open("w"), stderr=self.err.open("w"), cwd=folder)
        measure_dump.wait_until(lambda: "ready\n" in self.out.read_text() or self.process.poll() is not None, "the objects")
        self.hprof("attach", str(self.process.pid), f"heap=dump,format=b,doe=n,file={folder}/x.hprof")

    def hprof(self, *arguments):
        subprocess.run([self.options.hprof, *arguments], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def looks(self, begin, end):
        """The longest gap in ms, and the looks, of the lines between two moments in seconds."""
        gaps, looks = [0.0], 0
        for line in self.out.read_text().split("ready\n", 1)[1].splitlines()[:-1]:
            moment, gap, count = map(int, line.split())
            if begin < moment / 1000 <= end + 0.02:
                gaps.append(gap / 1000)
                looks += count
        return max(gaps), looks

    def family(self):
        pid = self.process.pid
        children = pathlib.Path(f"/proc/{pid}/task").glob("*/children")
        return [pid, *(int(child) for file in children for child in file.read_text().split())]

    def memory(self):
        total = 0
        for pid in self.family():
            try:
                total += int(re.search(r"^Pss:\s+(\d+)", pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text(), re.M)[1])
            except (OSError, TypeError):
                continue
        return total / 1024

    def cpu(self):
        """That of the process but for the thread that looks, of its children, and of commands."""

        def ticks(file, fields):
            return sum(map(int, file.read_text().rsplit(")", 1)[1].split()[fields]))

        process = pathlib.Path(f"/proc/{self.process.pid}")
        looker = max(ticks(thread / "stat", slice(11, 13)) for thread in (process / "task").iterdir())
        commands = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (ticks(process / "stat", slice(11, 15)) - looker) / TICKS + commands.ru_utime + commands.ru_stime


def measure(program, dump):
    program.memory()
    begin = time.time()
    time.sleep(1)
    quiet = program.looks(begin, time.time())[1] / (time.time() - begin)
    before, cpu, peak, over = program.memory(), program.cpu(), [0.0], threading.Event()

    def watch():
        while not over.wait(0.25):
            peak.append(program.memory() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    begin = time.time()
    said = dump()
    end = time.time()
    over.set()
    watcher.join()
    time.sleep(0.1)
    gap, looks = program.looks(begin, end)
    share = looks / quiet / max(end - begin - gap / 1000, 0.001)
    return gap, said, end - begin, share, program.cpu() - cpu, max(peak)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("home", "collector", "hprof", "classes"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--rounds", type=int, required=True)
    parser.add_argument("--objects", type=int, required=True)
    parser.add_argument("--heap", default="3g")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.classes) as name:
        folder = pathlib.Path(name)
        program = Program(options, folder)
        file = folder / "x.hprof"

        def by_agent(*arguments):
            before = file.stat().st_size
            program.hprof("dump", str(program.process.pid), "--yes", *arguments)
            dumper, pause = SAID.findall(program.err.read_text())[-1]
            if ("child" in dumper) != bool(arguments):
                raise SystemExit(f"the dump is by {dumper}")
            os.truncate(file, before)
            return float(pause)

        def by_vm():
            target = folder / "vm.hprof"
            command = [f"{options.home}/bin/jcmd", str(program.process.pid), "GC.heap_dump", str(target)]
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            target.unlink()
            return float("nan")

        ways = {"fork": lambda: by_agent("--fork"), "ordinary": by_agent}
        if pathlib.Path(options.home, "bin/jcmd").exists():
            ways["jcmd"] = by_vm
        try:
            rounds = [{way: measure(program, dump) for way, dump in ways.items()} for _ in range(options.rounds)]
        finally:
            program.process.kill()
            program.process.wait()
    for way in ways:
        figures = zip(*(figures[way] for figures in rounds))
        print(way, *(f"{statistics.median(figure):.4g}" for figure in figures), sep="\t")


if __name__ == "__main__":
    main()
