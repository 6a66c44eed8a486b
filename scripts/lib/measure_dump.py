#!/usr/bin/env python3
"""Measures a heap dump on request against the VM's own, of the same heap, in turn.

    measure_dump.py --rounds N --home JDK --agent LIBRARY --options OPTIONS --objects N --classes DIRECTORY

Two VMs hold the same objects: one without the agent is asked by `jmap -dump:live`, one with it by SIGQUIT. CPU is the time
of the whole VM from the request to the end of the dump, and of jmap, which is a program of Java. Prints, tab-separated:
jmap's CPU s, the agent's, the median of the rounds' ratios, the same three of the wall time, both peaks of resident
memory in MB, the ms for which the agent says that the program stood still, and both files' MB.
"""

import argparse
import os
import pathlib
import re
import resource
import signal
import statistics
import subprocess
import tempfile
import time

TIMEOUT = 600


def wait_until(condition, what: str) -> None:
    end = time.monotonic() + TIMEOUT
    while not condition():
        if time.monotonic() > end:
            raise SystemExit(f"waited in vain for {what}")
        time.sleep(0.002)


class Vm:
    """A VM that holds the objects."""

    def __init__(self, options, folder: pathlib.Path, name: str, arguments: list[str]):
        self.stderr = folder / f"{name}.stderr"
        stdout = folder / f"{name}.stdout"
        command = [f"{options.home}/bin/java", *arguments, "-Xms3g", "-Xmx3g", "-cp", options.classes, "Big", options.objects]
        self.process = subprocess.Popen(command, stdout=stdout.open("w"), stderr=self.stderr.open("w"), cwd=folder)
        wait_until(lambda: self.ended() or "ready" in stdout.read_text(), "the objects")
        if self.ended():
            raise SystemExit(f"{name}: the VM has ended: {self.stderr.read_text()}")

    def ended(self) -> bool:
        return self.process.poll() is not None

    def cpu(self) -> float:
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
        tools = resource.getrusage(resource.RUSAGE_CHILDREN)
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK") + tools.ru_utime + tools.ru_stime

    def peak(self) -> float:
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024

    def measure(self, dump) -> tuple[float, float, float]:
        # Forgets the peak so far.
        pathlib.Path(f"/proc/{self.process.pid}/clear_refs").write_text("5")
        cpu, wall = self.cpu(), time.monotonic()
        dump()
        return self.cpu() - cpu, time.monotonic() - wall, self.peak()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("rounds", "home", "agent", "options", "objects", "classes"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.classes) as name:
        folder = pathlib.Path(name)
        agent = Vm(options, folder, "agent", [f"-agentpath:{options.agent}={options.options},doe=n,file={folder}/agent.hprof"])
        bare = Vm(options, folder, "bare", [])
        try:
            print("\t".join(f"{figure:.4g}" for figure in measure(options, folder, bare, agent)))
        finally:
            bare.process.kill()
            agent.process.kill()
            bare.process.wait()
            agent.process.wait()


def measure(options, folder: pathlib.Path, bare: Vm, agent: Vm) -> list[float]:
    bare_file, agent_file = folder / "bare.hprof", folder / "agent.hprof"

    def by_jmap() -> None:
        bare_file.unlink(missing_ok=True)
        command = [f"{options.home}/bin/jmap", f"-dump:live,format=b,file={bare_file}", str(bare.process.pid)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)

    def by_agent() -> None:
        before = agent.stderr.read_text().count(" done.\n")
        agent.process.send_signal(signal.SIGQUIT)
        wait_until(lambda: agent.ended() or agent.stderr.read_text().count(" done.\n") > before, "the agent's dump")

    rounds, sizes = [], []
    for _ in range(int(options.rounds)):
        before = agent_file.stat().st_size
        rounds.append((bare.measure(by_jmap), agent.measure(by_agent)))
        sizes.append((bare_file.stat().st_size, agent_file.stat().st_size - before))
        # What has been written must not keep the disk busy in the next round; the file keeps its length.
        os.truncate(agent_file, 0)
        os.truncate(agent_file, before + sizes[-1][1])
    figures = []
    for index in (0, 1):
        pairs = [(theirs[index], ours[index]) for theirs, ours in rounds]
        figures += [statistics.median(pair[0] for pair in pairs), statistics.median(pair[1] for pair in pairs)]
        figures.append(statistics.median(ours / theirs for theirs, ours in pairs))
    figures += [statistics.median(pair[side][2] for pair in rounds) for side in (0, 1)]
    pauses = re.findall(r"stood still for (\d+) ms", agent.stderr.read_text())
    figures.append(statistics.median(int(pause) for pause in pauses) if pauses else float("nan"))
    return figures + [statistics.median(size[side] for size in sizes) / 1e6 for side in (0, 1)]


if __name__ == "__main__":
    main()
