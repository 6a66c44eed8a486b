#!/usr/bin/env python3
"""Takes CPU samples of a program that is hard to walk, until so many have been taken, on each JVM in many settings.

    stress_samples.py --agent FILE --classes DIR --kinds FILE --folder DIR --samples N [--life MS] [--storm] [--wall]

--kinds has lines `<feature> <home> <collector>`. Prints a row for each JVM and setting: runs, samples as stderr counts them (in
intervals of 1 ms; the kernel sends one signal for several), the share without the Java frames that they had, and runs that
crashed, hung or failed. Between them it samples Paths.java, whose stacks are known: how many were compared, and how many
differed, which is a failure as well. With --storm, a column says how long the handler ran in the last run: the median, and the
99.9th percentile. What a run that failed left stays in --folder. Exits 1 if there was one. With --storm, --folder has what
scripts/stress puts there: signal_storm.so, redefine.jar and boot.

With --wall, it takes wall-clock samples instead, and looks at each thread each millisecond.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

import known_stacks

SETTINGS = [
    [],
    ["-Xint"],
    ["-XX:TieredStopAtLevel=1"],
    ["-XX:ReservedCodeCacheSize=5m", "-XX:-SegmentedCodeCache"],
    ["-XX:-TieredCompilation"],
    ["-Xcheck:jni"],
]
JFR = ["-XX:StartFlightRecording=settings=profile,filename=beside.jfr"]
SAID = re.compile(r"engine=async; (\d+) samples, (\d+) .*?, (\d+) of threads that ran no Java, (\d+) lost")


def settings(feature, collector, storm):
    """One collector has all settings, the others the default alone."""
    # ZGC reserves memory for each of its threads.
    heap = "-Xmx100m" if storm and collector != "Z" else "-Xmx256m"
    choose = ["-XX:+UnlockExperimentalVMOptions", f"-XX:+Use{collector}GC", heap]
    all_settings = SETTINGS + ([JFR] if int(feature) >= 17 else []) if collector == "G1" else [[]]
    return [choose + setting for setting in all_settings]


WALL = re.compile(r"WALL SAMPLES BEGIN \(total = (\d+)")
UNSAMPLED = re.compile(r"^ *\d+ +\S+ +\S+ +(\d+) \d+ java\.lang\.Thread\.<unsampled>$", re.MULTILINE)


class Fault(Exception):
    pass


def run(home, arguments, setting, native, program="Churn"):
    """The profile, and samples, those that could not be walked, and those lost."""
    profile = pathlib.Path(arguments.folder) / "stress.txt"
    options = f"cpu=samples,engine=async,interval=1,depth=200,cutoff=0,thread=y,vmthreads=y,native={native},verbose=y,file={profile}"
    if arguments.wall:
        options = f"wall=1ms,depth=200,cutoff=0,thread=y,file={profile}"
    folder = pathlib.Path(arguments.folder).resolve()
    storm, environment = [], dict(os.environ)
    if arguments.storm:
        environment |= {"LD_PRELOAD": f"{folder}/signal_storm.so", "HPROF_STORM_NANOS": "20000"}
        environment["HPROF_STORM_TIMES"] = f"{folder}/times"
        storm = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+WhiteBoxAPI"]
        storm += [f"-Xbootclasspath/a:{folder}/boot", f"-javaagent:{folder}/redefine.jar"]
    agent = f"-agentpath:{arguments.agent}={options}"
    command = [f"{home}/bin/java", agent, *storm, *setting, "-Xss1m", "-cp", arguments.classes]
    try:
        done = subprocess.run(
            [*command, program, str(arguments.life)],
            capture_output=True,
            text=True,
            timeout=600,
            cwd=folder,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise Fault("hung") from None
    said, text = SAID.search(done.stderr), profile.read_text()
    end = {"Churn": "churned", "Paths": "walked"}[program]
    if done.returncode != 0 or end not in done.stdout or not (said or arguments.wall):
        raise Fault(f"status {done.returncode}: {done.stderr[-400:]} {done.stdout[-400:]}")
    if known_stacks.SECTION[arguments.wall] + " END" not in text:
        raise Fault("the profile is not whole")
    if arguments.wall:
        return text, int(WALL.search(text)[1]), sum(map(int, UNSAMPLED.findall(text))), 0
    samples, unwalkable, _, lost = map(int, said.groups())
    return text, samples, unwalkable, lost


def handler_times(arguments):
    """The times of the last run with --storm."""
    if not arguments.storm:
        return "-"
    median, most, _ = map(int, (pathlib.Path(arguments.folder) / "times").read_text().split())
    return f"{median / 1000:.1f}, {most / 1000:.1f} us"


def main():
    parser = argparse.ArgumentParser()
    for name in ["agent", "classes", "kinds", "folder"]:
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--samples", type=int, required=True)
    parser.add_argument("--life", type=int, default=5000)
    parser.add_argument("--storm", action="store_true")
    parser.add_argument("--wall", action="store_true")
    arguments = parser.parse_args()
    arguments.storm = arguments.storm and not arguments.wall
    source = pathlib.Path("java-tests/samples/Paths.java").read_text()
    faults = all_taken = all_compared = 0
    head = "| JVM | setting | runs | samples | without frames | lost | compared | differed | handler | faults |"
    print(head, "|---" * 10 + "|", sep="\n", flush=True)
    for line in pathlib.Path(arguments.kinds).read_text().splitlines():
        feature, home, collector = line.split()
        every = settings(feature, collector, arguments.storm)
        for setting in every:
            runs = taken = missed = dropped = compared = differed = failed = 0
            try:
                while taken < arguments.samples:
                    # Frames of native code in every other run, beginning with the first.
                    native = "ny"[runs % 2 == 0]
                    _, samples, unwalkable, lost = run(home, arguments, setting, native)
                    runs, taken, missed, dropped = runs + 1, taken + samples, missed + unwalkable, dropped + lost
                    if runs % 4 == 1:
                        text = run(home, arguments, setting, "n", "Paths")[0]
                        known, wrong = known_stacks.compare(text, source, arguments.wall)
                        compared, differed = compared + known, differed + sum(count for _, count, _ in wrong)
                        for what, _, frames in wrong[:1]:
                            stack = "".join(frames)
                            raise Fault(f"{what}:{stack}")
            except Fault as fault:
                failed += 1
                print(f"{feature} {' '.join(setting)}: {fault}", file=sys.stderr)
            all_taken, all_compared = all_taken + taken, all_compared + compared
            share = 100 * missed / max(taken, 1)
            name = " ".join(option for option in setting if not option.startswith(("-XX:+Unlock", "-Xmx")))
            jvm = pathlib.Path(home).name if "/old/" in home else feature
            handler = "-" if failed else handler_times(arguments)
            counts = f"{runs} | {taken} | {share:.1f} % | {dropped} | {compared} | {differed}"
            print(f"| {jvm} | {name} | {counts} | {handler} | {failed} |", flush=True)
            faults += failed
    print(f"{all_taken} samples in all, {all_compared} compared with the stacks that the program can have")
    sys.exit(min(faults, 1))


main()
