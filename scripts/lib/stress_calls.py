#!/usr/bin/env python3
"""Counts calls in programs of which it is known how many they make, with each collector of each JVM.

    stress_calls.py --agent FILE --cli FILE --jar FILE --folder DIR --calls N --jvm FEATURE=HOME ...

Runs java-tests/times/EveryCall.java, whose classes are redefined all the while, from its start and attached to, in platform and
virtual threads, and prints a row for each run. Exits 1 if a count was wrong or a run did not end well; its output stays in --folder.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys

OPTIONS = "cpu=times,clock=samples,include=EveryCall*,cutoff=0,depth=64,verbose=n"
COLLECTORS = ["Serial", "Parallel", "G1", "Shenandoah", "Z"]
TIMEOUT = 1800
TRUTH = re.compile(r"^truth (\S+) (\d+)$", re.MULTILINE)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["agent", "cli", "jar", "folder"]:
        parser.add_argument(f"--{name}", type=pathlib.Path, required=True)
    parser.add_argument("--calls", type=int, required=True)
    parser.add_argument("--jvm", action="append", required=True, help="FEATURE=HOME")
    return parser.parse_args()


def choose(collector):
    return ["-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{collector}GC"]


def has(home, collector):
    return subprocess.run([f"{home}/bin/java", *choose(collector), "-version"], capture_output=True).returncode == 0


def java(options, home, feature, collector):
    command = [f"{home}/bin/java", f"-javaagent:{options.jar}", *choose(collector)]
    if int(feature) >= 21:
        command.append("-XX:+EnableDynamicAgentLoading")
    return [*command, "-Xmx256m", "-Xss512k"]


def started(command, options, words, folder):
    """Runs the program with the agent; returns what it says."""
    agent = f"-agentpath:{options.agent}={OPTIONS},file={folder}/calls.txt"
    done = subprocess.run([command[0], agent, *command[1:], *words], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
    if done.returncode != 0 or done.stderr:
        raise ValueError(f"status {done.returncode}: {done.stderr[-300:]}")
    return done.stdout


def attached(command, options, words, folder):
    """Attaches to the program while it calls, ends that profile while it calls, and counts its next calls; returns what it says."""

    def hprof(*words):
        done = subprocess.run([options.cli, *words], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT)
        if done.returncode != 0:
            raise ValueError(f"hprof {words[0]}: {done.stderr[-300:]}")

    with open(folder / "err", "w") as err:
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": err, "text": True}
        with subprocess.Popen([*command, *words, "twice", "wait"], cwd=folder, **pipes) as program:
            try:
                pid, agent = str(program.pid), ("--agent", options.agent)
                expect(program, "begun")
                hprof("attach", *agent, pid, f"{OPTIONS},file={folder}/middle.txt")
                hprof("stop", *agent, pid)
                expect(program, "ready")
                hprof("attach", *agent, pid, f"{OPTIONS},file={folder}/calls.txt")
                print(file=program.stdin, flush=True)
                expect(program, "done")
                hprof("stop", *agent, pid)
                said, _ = program.communicate("\n", timeout=TIMEOUT)
            finally:
                program.kill()
    if program.returncode != 0:
        raise ValueError(f"status {program.returncode}")
    return said


def expect(program, word):
    line = program.stdout.readline()
    if line != f"{word}\n":
        raise ValueError(f"the program says {line!r}, not {word}")


def wrong(said, profile):
    """The methods that were called, and those with a wrong count."""
    counted = {}
    for line in profile.read_text().split("CPU TIME (ms) BEGIN")[1].splitlines():
        row = line.split()
        if len(row) == 6 and row[0].isdigit():
            counted[row[5]] = counted.get(row[5], 0) + int(row[3])
    truths = {method: int(calls) for method, calls in TRUTH.findall(said)}
    return truths, [f"{method} {counted.get(method, 0)} not {calls}" for method, calls in truths.items() if counted.get(method, 0) != calls]


def main():
    options = arguments()
    shutil.rmtree(options.folder, ignore_errors=True)
    faults = 0
    print(f"{'JVM':>4} {'collector':<11} {'run':<18} {'calls':>14}")
    for jvm in options.jvm:
        feature, home = jvm.split("=", 1)
        for collector in (collector for collector in COLLECTORS if has(home, collector)):
            command = [*java(options, home, feature, collector), "-cp", options.jar, "EveryCall", str(options.calls)]
            for threads in ["platform", *(["virtual"] if int(feature) >= 21 else [])]:
                for way in [started, attached]:
                    folder = (options.folder / f"{feature}-{collector}-{threads}-{way.__name__}").resolve()
                    folder.mkdir(parents=True)
                    calls, fault = 0, ""
                    try:
                        words = ["virtual"] if threads == "virtual" else []
                        truths, differences = wrong(way(command, options, words, folder), folder / "calls.txt")
                        calls, fault = sum(truths.values()), "; ".join(differences)
                        if not truths:
                            fault = "the program says nothing"
                    except (ValueError, IndexError, OSError, subprocess.TimeoutExpired) as reason:
                        fault = str(reason)
                    faults += bool(fault)
                    print(f"{feature:>4} {collector:<11} {threads + ' ' + way.__name__:<18} {calls:>14,} {fault}", flush=True)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
