#!/usr/bin/env python3
"""The part of scripts/stress that --blackbox runs, as its help describes it."""

import argparse
import collections
import pathlib
import random
import re
import shutil
import subprocess
import sys
import threading

MODES = ["heap=sites", "cpu=samples", "cpu=samples,heap=sites,monitor=y", "cpu=samples,thread=y", "cpu=times", "cpu=old"]
COLLECTORS = ["G1", "Serial", "Parallel", "Z", "Shenandoah"]
UNLOCK = "-XX:+UnlockExperimentalVMOptions"
SITE = re.compile(r"^ *\d+ +\S+% +\S+% +(\d+) +(\d+) +(\d+) +(\d+) +\d+ Load\$Item$", re.MULTILINE)


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--agent", required=True)
    parser.add_argument("--hprof", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    parser.add_argument("--runs", type=int, required=True)
    parser.add_argument("--parallel", type=int, required=True)
    parser.add_argument("--jvm", action="append", required=True, metavar="FEATURE=HOME")
    return parser.parse_args()


def cells(jvms):
    for jvm in jvms:
        feature, home = jvm.split("=", 1)
        for collector in COLLECTORS:
            java = [f"{home}/bin/java", UNLOCK, f"-XX:+Use{collector}GC"]
            if subprocess.run([*java, "-version"], capture_output=True).returncode == 0:
                for mode in MODES:
                    yield f"{feature} {collector} {mode}", java, mode


def fault_of(options, folder, java, mode, seconds):
    """Kills one program; returns what is wrong with what it leaves, or None."""
    folder.mkdir(parents=True)
    command = [*java, f"-agentpath:{options.agent}={mode},blackbox=y,verbose=n,file={folder}/x.txt", "-cp", options.classes, "Load"]
    with open(folder / "out", "w") as out, open(folder / "err", "w") as err:
        process = subprocess.Popen(command, stdout=out, stderr=err)
        try:
            process.wait(seconds)
            return f"the program ended by itself: {process.returncode}"
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    black_box = folder / "x.txt.blackbox"
    if not black_box.exists():
        # It was killed before the VM was up.
        return None if "making" not in (folder / "out").read_text() else "there is no black box"
    autopsy = subprocess.run([options.hprof, "autopsy", black_box], capture_output=True, text=True)
    made = re.findall(r"making (\d+)\n", (folder / "out").read_text())
    if autopsy.returncode != 0:
        return None if not made else autopsy.stderr.strip()
    items = [[int(number) for number in row] for row in SITE.findall(autopsy.stdout)]
    live, allocated = sum(row[1] for row in items), sum(row[3] for row in items)
    if allocated > int(made[-1] if made else 0) or live > allocated:
        return f"{live} live of {allocated}, but {made[-1:]} were made"
    return None


def main():
    options = arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    kinds = list(cells(options.jvm))
    numbers = iter(range(options.runs))
    lock = threading.Lock()
    runs, faults = collections.Counter(), []

    def work():
        for number in numbers:
            name, java, mode = kinds[number * 7 % len(kinds)]
            folder = options.folder / str(number)
            fault = fault_of(options, folder, java, mode, random.uniform(0.3, 6))
            with lock:
                runs[name.split(" ", 2)[2]] += 1
                if fault:
                    faults.append(f"run {number}, {name}: {fault}; {folder} stays")
            if not fault:
                shutil.rmtree(folder)

    threads = [threading.Thread(target=work) for _ in range(options.parallel)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for mode, count in sorted(runs.items()):
        print(f"{mode}: {count} killed")
    for fault in faults:
        print(fault, file=sys.stderr)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
