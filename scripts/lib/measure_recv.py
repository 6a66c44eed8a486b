#!/usr/bin/env python3
"""Measures a collector of many agents.

    measure_recv.py --agents N --jvms N --stream PROFILE --cli HPROF --agent LIBRARY --java JAVA --classes DIRECTORY --folder DIRECTORY

That many agents send at once: JVMs that run `Counted`, each with a number of objects of its own, and for the rest of them
the bytes of PROFILE with a first record that no other has. The files must be what was sent, and those of the JVMs must tell
their numbers. Prints, tab-separated: agents, MB of PROFILE, wall seconds until the last file is there, the collector's CPU
seconds, its share of all CPU time that was used, and its peak MB.
"""

import argparse
import json
import os
import pathlib
import re
import resource
import selectors
import shutil
import socket
import struct
import subprocess
import time

PIECE = 1 << 16


def record(body: bytes) -> bytes:
    return struct.pack(">BII", 0x01, 0, len(body) + 8) + struct.pack(">Q", 7) + body


def start_jvms(options: argparse.Namespace, address: str) -> dict[int, subprocess.Popen]:
    """JVMs by the number of objects that each allocates."""
    profile = f"-agentpath:{options.agent}=heap=sites,format=b,cutoff=0,verbose=n,net={address}"
    command = [options.java, profile, "-Xmx64m", "-cp", options.classes, "Counted"]
    return {
        made: subprocess.Popen([*command, str(made)], stdout=subprocess.DEVNULL)
        for made in range(1_000, 1_000 + int(options.jvms))
    }


def send(address: str, streams: list[bytes], common: bytes) -> dict[str, int]:
    """Sends the streams, each with `common` behind it; which of them each peer has sent."""
    host, port = address.rsplit(":", 1)
    waiting = selectors.DefaultSelector()
    peers = {}
    for number in range(len(streams)):
        agent = socket.create_connection((host, int(port)))
        peers["%s:%d" % agent.getsockname()] = number
        agent.setblocking(False)
        waiting.register(agent, selectors.EVENT_WRITE, [number, 0])
    while waiting.get_map():
        for key, _ in waiting.select():
            number, sent = key.data
            own = streams[number]
            piece = own[sent:] if sent < len(own) else memoryview(common)[sent - len(own) : sent - len(own) + PIECE]
            key.data[1] += key.fileobj.send(piece)
            if key.data[1] == len(own) + len(common):
                waiting.unregister(key.fileobj)
                key.fileobj.close()
    return peers


def made_by(cli: str, file: pathlib.Path) -> int:
    """How many objects of class `Made` the sites of a profile tell of."""
    text = subprocess.run([cli, "text", str(file)], capture_output=True, text=True, check=True).stdout
    rows = re.findall(r"(\d+) +\d+ Counted\$Made$", text, re.M)
    if len(rows) != 1:
        raise SystemExit(f"{file} has {len(rows)} rows of Counted$Made")
    return int(rows[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("agents", "jvms", "stream", "cli", "agent", "java", "classes", "folder"):
        parser.add_argument(f"--{name}", required=True)
    options = parser.parse_args()
    count = int(options.agents)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    stream = pathlib.Path(options.stream).read_bytes()
    # The format's name, the size of ids and the time.
    head = stream.index(b"\0") + 1 + 4 + 8
    streams = [stream[:head] + record(b"agent %d" % number) for number in range(count - int(options.jvms))]
    common = stream[head:]
    folder = pathlib.Path(options.folder) / "recv"
    folder.mkdir()
    command = [options.cli, "recv", "--dir", str(folder)]
    collector = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    address = json.loads(collector.stdout.readline())["address"]
    start = time.monotonic()
    jvms = start_jvms(options, address)
    peers = send(address, streams, common)
    ended = {}
    while len(ended) < count:
        event = json.loads(collector.stdout.readline())
        if event["event"] == "ended":
            if not event["whole"]:
                raise SystemExit(f"{event}")
            ended[event["peer"]] = folder / event["file"]
    wall = time.monotonic() - start
    if any(jvm.wait() != 0 for jvm in jvms.values()):
        raise SystemExit("a JVM failed")
    status = pathlib.Path(f"/proc/{collector.pid}/status").read_text()
    peak = int(status.split("VmHWM:")[1].split()[0]) / 1024
    collector.terminate()
    _, _, usage = os.wait4(collector.pid, 0)
    used = usage.ru_utime + usage.ru_stime
    everybody = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    share = used / sum(one.ru_utime + one.ru_stime for one in everybody)
    for peer, number in peers.items():
        if ended.pop(peer).read_bytes() != streams[number] + common:
            raise SystemExit(f"the file of {peer} is not what it has sent")
    if sorted(made_by(options.cli, file) for file in ended.values()) != sorted(jvms):
        raise SystemExit("the profiles of the JVMs do not tell of what they have made")
    shutil.rmtree(folder)
    megabytes = len(stream) / 1e6
    print("\t".join([str(count), *(f"{figure:.3g}" for figure in (megabytes, wall, used, share, peak))]))


if __name__ == "__main__":
    main()
