#!/usr/bin/env python3
"""The part of scripts/stress that --dumps runs, as its help describes it."""

import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import threading
import time

ITEMS = 200_000
QUESTIONS = [
    "summary",
    "leaks",
    "histogram",
    "histogram --retained",
    "retained --by object",
    "retained --by class",
    "who --class Killed$Item",
    "paths --class Killed$Item --top 1",
    "threads",
    "loaders",
]
WAYS = ["jcmd", "agent"]
# Longer than anything that is waited for takes.
LIMIT = 300


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", required=True)
    parser.add_argument("--hprof", required=True)
    parser.add_argument("--jcmd", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, required=True, help="on each JVM in each way")
    parser.add_argument("--parallel", type=int, required=True)
    parser.add_argument("--jvm", action="append", required=True, metavar="FEATURE=HOME")
    return parser.parse_args()


class Dumped:
    """A program, and the dump of it that is being written."""

    def __init__(self, options, home, way, folder):
        folder.mkdir(parents=True)
        self.file = folder / "x.hprof"
        agent = [f"-agentpath:{options.agent}=heap=dump,format=b,verbose=n,file={self.file}"] if way == "agent" else []
        command = [f"{home}/bin/java", "-Xmx256m", *agent, "-cp", options.classes, "Killed", str(ITEMS)]
        with open(folder / "err", "w") as err:
            self.program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=err)
        if self.program.stdout.readline() != b"ready\n":
            raise RuntimeError((folder / "err").read_text())
        self.jcmd = None
        if way == "agent":
            # The dump at its end.
            self.program.stdin.close()
        else:
            asked = [options.jcmd, str(self.program.pid), "GC.heap_dump", str(self.file)]
            self.jcmd = subprocess.Popen(asked, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def wait_for_end(self):
        """Waits until the dump is whole; returns the seconds from its first bytes on."""
        self.wait_for_start()
        start = time.monotonic()
        (self.jcmd or self.program).wait(LIMIT)
        taken = time.monotonic() - start
        self.end()
        return taken

    def wait_for_start(self):
        least = time.monotonic() + LIMIT
        while not (any(self.file.parent.glob("x.hprof*")) and self.length() > 0) and time.monotonic() < least:
            if self.program.poll() is not None:
                break
            time.sleep(0.002)

    def length(self):
        return sum(file.stat().st_size for file in self.file.parent.glob("x.hprof*") if file.exists())

    def end(self):
        self.program.kill()
        self.program.wait()
        if self.jcmd is not None:
            self.jcmd.kill()
            self.jcmd.wait()


def faults_of(hprof, file):
    """Asks all questions of a dump; returns what is wrong with the answers, and whether it is whole."""
    faults, whole = [], True
    for question in QUESTIONS:
        command = [hprof, "heap", *question.split(), "--json", "--no-index", str(file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        said = done.stderr.strip()
        if done.returncode not in (0, 1) or "panicked" in said:
            faults.append(f"{question}: status {done.returncode}: {said}")
        elif done.returncode == 1 and not said.startswith("hprof: "):
            faults.append(f"{question}: status 1 without a word")
        elif done.returncode == 0 and said:
            faults.append(f"{question}: status 0, but: {said}")
        if question.startswith("histogram"):
            whole = whole and done.returncode == 0
            rows = json.loads(done.stdout or "{}")
            rows = rows.get("rows", []) if isinstance(rows, dict) else rows
            counted = sum(row["objects"] for row in rows if row["name"] == "Killed$Item")
            if counted > ITEMS or (done.returncode == 0 and counted != ITEMS):
                faults.append(f"{question}: status {done.returncode}, and {counted} of {ITEMS} items")
    return faults, whole


def main():
    options = arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    jvms = dict(jvm.split("=", 1) for jvm in options.jvm)
    cells = [(feature, way) for feature in jvms for way in WAYS]
    seconds = {}
    for feature, way in cells:
        folder = options.folder / f"whole-{feature}-{way}"
        dumped = Dumped(options, jvms[feature], way, folder)
        seconds[feature, way] = dumped.wait_for_end()
        faults, whole = faults_of(options.hprof, dumped.file)
        if faults or not whole:
            sys.exit(f"{feature} {way}: not even a whole dump is read: {faults}")
        shutil.rmtree(folder)
    work = iter([cell for cell in cells for _ in range(options.runs)])
    lock = threading.Lock()
    results, faults = collections.defaultdict(collections.Counter), []

    def kill_some():
        while True:
            with lock:
                cell = next(work, None)
                number = sum(sum(counts.values()) for counts in results.values())
            if cell is None:
                return
            feature, way = cell
            folder = options.folder / f"{feature}-{way}-{number}-{random.getrandbits(32):x}"
            dumped = Dumped(options, jvms[feature], way, folder)
            dumped.wait_for_start()
            time.sleep(random.uniform(0, seconds[cell]))
            dumped.end()
            found, whole = faults_of(options.hprof, dumped.file) if dumped.file.exists() else ([], False)
            with lock:
                results[cell]["whole" if whole else "cut" if dumped.file.exists() else "none"] += 1
                faults.extend(f"{feature} {way}: {fault}; {folder} stays" for fault in found)
            if not found:
                shutil.rmtree(folder)

    threads = [threading.Thread(target=kill_some) for _ in range(options.parallel)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("| JVM | by | cut | whole | no file |\n|---|---|---|---|---|")
    for (feature, way), counts in sorted(results.items()):
        print(f"| {feature} | {way} | {counts['cut']} | {counts['whole']} | {counts['none']} |")
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
