#!/usr/bin/env python3
"""Measures what a profile costs a service that runs already.

    measure_attach.py [--rounds N] [--seconds N] [--options OPTIONS] --cli HPROF --agent LIBRARY --java JAVA --classes DIRECTORY
        --folder DIRECTORY

Starts `Service` (benches/attach), lets it warm up, and counts the requests that it serves in so many seconds (6) before
`hprof attach PID OPTIONS` (heap=sites), while the profile runs, and after `hprof stop`. Prints, tab-separated, medians over the rounds:

    requests a second before; during and after, as shares of that; the same two of the requests by CPU second; the seconds that
    `attach` and `stop` take
"""

import argparse
import os
import pathlib
import statistics
import subprocess
import time

# After so many windows its code is compiled.
WARM_UP = 2


class Service:
    def __init__(self, options: argparse.Namespace) -> None:
        command = [options.java, "-Xmx512m", "-cp", options.classes, "Service"]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def state(self) -> tuple[int, float, float]:
        """Requests served, CPU seconds used, and the time."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        served = int(self.process.stdout.readline())
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        ticks = int(fields[11]) + int(fields[12])
        return served, ticks / os.sysconf("SC_CLK_TCK"), time.monotonic()

    def speed(self, seconds: float) -> tuple[float, float]:
        """Requests by second, and by CPU second."""
        served, used, start = self.state()
        time.sleep(seconds)
        served_then, used_then, end = self.state()
        return (served_then - served) / (end - start), (served_then - served) / (used_then - used)

    def end(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def hprof(*command: str) -> float:
    """The seconds that a command takes."""
    start = time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start


def measure(options: argparse.Namespace) -> list[float]:
    service = Service(options)
    pid = str(service.process.pid)
    profile = f"{options.options},verbose=n,force=y,file={options.folder / 'attach.txt'}"
    service.speed(WARM_UP * options.seconds)
    before = service.speed(options.seconds)
    attach = hprof(options.cli, "attach", pid, profile, "--agent", options.agent)
    during = service.speed(options.seconds)
    stop = hprof(options.cli, "stop", pid)
    after = service.speed(options.seconds)
    service.end()
    shares = [now[kind] / before[kind] for kind in (0, 1) for now in (during, after)]
    return [before[0], *shares, attach, stop]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=6)
    parser.add_argument("--options", default="heap=sites")
    for name in ("--cli", "--agent", "--java", "--classes"):
        parser.add_argument(name, required=True)
    parser.add_argument("--folder", type=pathlib.Path, required=True)
    options = parser.parse_args()
    rounds = [measure(options) for _ in range(options.rounds)]
    medians = [statistics.median(figures) for figures in zip(*rounds)]
    print("\t".join([f"{medians[0]:.0f}", *(f"{share:.2f}" for share in medians[1:5]), *(f"{s:.2f}" for s in medians[5:])]))


if __name__ == "__main__":
    main()
