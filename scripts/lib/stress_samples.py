#!/usr/bin/env python3
"""Takes CPU samples of a program that is hard to walk, until so many have been taken, on each JVM in many settings.

    stress_samples.py --agent FILE --classes DIR --kinds FILE --folder DIR --samples N [--life MS] [--storm]

--kinds has lines `<feature> <home> <collector>`. Prints a row for each JVM and setting: runs, samples as stderr counts them (in
intervals of 1 ms; the kernel sends one signal for several), the share without the Java frames that they had, and runs that
crashed, hung or failed. With --storm, a column says how long the handler ran in the last run: the median, and the 99.9th percentile. What such a run left stays in --folder. Exits 1 if there was one. With --storm, --folder has what
scripts/stress puts there: signal_storm.so, redefine.jar and boot.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys

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


def run(home, arguments, setting, native):
    """Samples, those that could not be walked, those lost, and what went wrong."""
    profile = pathlib.Path(arguments.folder) / "stress.txt"
    options = f"cpu=samples,engine=async,interval=1,depth=200,thread=y,vmthreads=y,native={native},verbose=y,file={profile}"
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
            [*command, "Churn", str(arguments.life)],
            capture_output=True,
            text=True,
            timeout=600,
            cwd=folder,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        return 0, 0, 0, "hung"
    said = SAID.search(done.stderr)
    if done.returncode != 0 or "churned" not in done.stdout or said is None:
        return 0, 0, 0, f"status {done.returncode}: {done.stderr[-400:]} {done.stdout[-400:]}"
    if "CPU SAMPLES END" not in profile.read_text():
        return 0, 0, 0, "the profile is not whole"
    samples, unwalkable, _, lost = map(int, said.groups())
    return samples, unwalkable, lost, None


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
    arguments = parser.parse_args()
    faults = 0
    print("| JVM | setting | runs | samples | without frames | lost | handler | faults |\n|---|---|---|---|---|---|---|---|", flush=True)
    for line in pathlib.Path(arguments.kinds).read_text().splitlines():
        feature, home, collector = line.split()
        every = settings(feature, collector, arguments.storm)
        for setting in every:
            runs = taken = missed = dropped = failed = 0
            while taken < arguments.samples and failed == 0:
                # Frames of native code in every other run, beginning with the first.
                native = "ny"[runs % 2 == 0]
                samples, unwalkable, lost, fault = run(home, arguments, setting, native)
                runs, taken, missed, dropped = runs + 1, taken + samples, missed + unwalkable, dropped + lost
                if fault:
                    failed += 1
                    print(f"{feature} {' '.join(setting)}: {fault}", file=sys.stderr)
            share = 100 * missed / max(taken, 1)
            name = " ".join(option for option in setting if not option.startswith(("-XX:+Unlock", "-Xmx")))
            jvm = pathlib.Path(home).name if "/old/" in home else feature
            handler = "-" if failed else handler_times(arguments)
            print(f"| {jvm} | {name} | {runs} | {taken} | {share:.1f} % | {dropped} | {handler} | {failed} |", flush=True)
            faults += failed
    sys.exit(min(faults, 1))


main()
