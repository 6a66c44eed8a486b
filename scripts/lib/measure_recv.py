#!/usr/bin/env python3
"""Measures a collector of many agents.

    measure_recv.py --agents N --megabytes N --cli HPROF --folder DIRECTORY

Plays that many agents at once, each of which sends a profile of that size which no other sends, and compares the files.
Prints, tab-separated: agents, MB of each, wall seconds until the last file is there, the collector's CPU seconds, its peak MB,
and the CPU seconds of the load generator.
"""

import argparse
import json
import os
import pathlib
import resource
import selectors
import shutil
import socket
import struct
import subprocess
import time

HEAD = b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, 1_795_171_151_000)
PIECE = 1 << 16


def record(body: bytes) -> bytes:
    return struct.pack(">BII", 0x01, 0, len(body) + 8) + struct.pack(">Q", 7) + body


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("agents", "megabytes", "cli", "folder"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    count, size = int(options.agents), int(options.megabytes) * 1_000_000
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    folder = pathlib.Path(options.folder) / "recv"
    folder.mkdir()
    command = [options.cli, "recv", "--dir", str(folder)]
    collector = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    host, port = json.loads(collector.stdout.readline())["address"].rsplit(":", 1)
    common = record(bytes(992)) * (size // 1009)
    first = [HEAD + record(b"agent %d" % number) for number in range(count)]
    start = time.monotonic()
    waiting = selectors.DefaultSelector()
    peers = {}
    for number in range(count):
        agent = socket.create_connection((host, int(port)))
        peers["%s:%d" % agent.getsockname()] = number
        agent.setblocking(False)
        waiting.register(agent, selectors.EVENT_WRITE, [number, 0])
    total = [len(first[number]) + len(common) for number in range(count)]
    while waiting.get_map():
        for key, _ in waiting.select():
            number, sent = key.data
            own = first[number]
            piece = own[sent:] if sent < len(own) else memoryview(common)[sent - len(own) : sent - len(own) + PIECE]
            key.data[1] += key.fileobj.send(piece)
            if key.data[1] == total[number]:
                waiting.unregister(key.fileobj)
                key.fileobj.close()
    ended = {}
    while len(ended) < count:
        event = json.loads(collector.stdout.readline())
        if event["event"] == "ended":
            if not event["whole"]:
                raise SystemExit(f"{event}")
            ended[event["peer"]] = event["file"]
    wall = time.monotonic() - start
    status = pathlib.Path(f"/proc/{collector.pid}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    collector.terminate()
    _, _, usage = os.wait4(collector.pid, 0)
    for peer, name in ended.items():
        if (folder / name).read_bytes() != first[peers[peer]] + common:
            raise SystemExit(f"{name} is not what {peer} has sent")
    shutil.rmtree(folder)
    own = resource.getrusage(resource.RUSAGE_SELF)
    figures = [wall, usage.ru_utime + usage.ru_stime, peak, own.ru_utime + own.ru_stime]
    print("\t".join([str(count), options.megabytes, *(f"{figure:.3g}" for figure in figures)]))


if __name__ == "__main__":
    main()
