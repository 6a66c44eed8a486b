"""Compares what the commands that talk do on two systems: windows_servers.py FOLDER PROFILE LINUX_COMMAND... -- WINDOWS_COMMAND...

An assistant's questions, a page in a browser, a profile that is received and one that is sent.
"""

import gzip
import http.server
import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

TIMEOUT = 120


def main() -> None:
    folder, profile = Path(sys.argv[1]), sys.argv[2]
    end = sys.argv.index("--")
    systems = {"linux": sys.argv[3:end], "windows": sys.argv[end + 1 :]}
    for check in [answers, pages, received, interrupted, received_many, sent]:
        linux, windows = (check(command, folder / system, profile) for system, command in systems.items())
        if linux != windows or not linux:
            sys.exit(f"{check.__name__} differ:\nlinux: {linux!r}\nwindows: {windows!r}")
        print(f"{check.__name__}: the same")


def start(command: list[str], folder: Path, *arguments: str, **options: object) -> subprocess.Popen:
    return subprocess.Popen([*command, *arguments], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options)


def answers(command: list[str], folder: Path, profile: str) -> list[object]:
    """What an assistant is told, and that the server ends with its input."""
    server = start(command, folder, "mcp", ".")
    client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}

    def ask(number: int, method: str, parameters: dict) -> object:
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}
        server.stdin.write(json.dumps(request).encode() + b"\n")
        server.stdin.flush()
        line = server.stdout.readline()
        assert not line.endswith(b"\r\n"), line
        answer = json.loads(line)
        assert answer["id"] == number, answer
        return answer["result"]

    ask(1, "initialize", {**client})
    server.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
    tools = [tool["name"] for tool in ask(2, "tools/list", {})["tools"]]
    top = ask(3, "tools/call", {"name": "top", "arguments": {"file": profile}})
    outside = ask(4, "tools/call", {"name": "top", "arguments": {"file": "../elsewhere/" + profile}})
    server.stdin.close()
    status = server.wait(TIMEOUT)
    assert status == 0, status
    texts = [json.loads(answer["content"][0]["text"]) for answer in (top, outside)]
    for text in texts:
        for key in text.keys() & {"command", "error"}:
            text[key] = re.sub(r"\S*/" + re.escape(folder.name) + r"\b", "FOLDER", text[key].replace("\\", "/"))
    return [tools, *texts]


def pages(command: list[str], folder: Path, _: str) -> list[str]:
    """The pages of a heap dump."""
    if not (folder / "heap.hprof").exists():
        return ["there is no heap dump"]
    server = start(command, folder, "browse", "heap.hprof", stderr=subprocess.DEVNULL)
    address = server.stdout.readline().decode().strip()
    found = []
    try:
        for name in ["", "class/java%2Elang%2EString", "nothing"]:
            try:
                with urllib.request.urlopen(address + name, timeout=TIMEOUT) as answer:
                    text = answer.read().decode()
            except urllib.error.HTTPError as error:
                text = f"{error.code} {error.read().decode()}"
            token = address.rstrip("/").rsplit("/", 1)[1]
            found.append(text.replace(token, "TOKEN"))
    finally:
        server.kill()
        server.wait(TIMEOUT)
    return found


def stream(folder: Path, profile: str) -> bytes:
    return gzip.decompress((folder / profile).read_bytes())


def address_of(server: subprocess.Popen) -> tuple[str, int]:
    line = server.stdout.readline().decode()
    host, port = line.strip().removeprefix("listening on ").rsplit(":", 1)
    return host, int(port)


def received(command: list[str], folder: Path, profile: str) -> list[object]:
    """A file from one agent."""
    server = start(command, folder, "recv", "-o", "received.hprof", stderr=subprocess.PIPE)
    with socket.create_connection(address_of(server), TIMEOUT) as agent:
        agent.sendall(stream(folder, profile))
    _, said = server.communicate(timeout=TIMEOUT)
    return [server.returncode, said.decode(), (folder / "received.hprof").read_bytes()]


def interrupted(command: list[str], folder: Path, profile: str) -> list[object]:
    """Ctrl-C while an agent is connected, and before one has come."""
    found: list[object] = []
    for name in ["early", "late"]:
        server = start(command, folder, "recv", "-o", name, stderr=subprocess.PIPE)
        address = address_of(server)
        agent = None
        if name == "late":
            agent = socket.create_connection(address, TIMEOUT)
            agent.sendall(stream(folder, profile))
            # The file grows when what was sent is received.
            while not any(part.stat().st_size for part in folder.glob(".late*")):
                time.sleep(0.1)
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=TIMEOUT)
        if agent:
            agent.close()
        found.append((server.returncode, (folder / name).exists()))
    (folder / "late").unlink()
    return found


def received_many(command: list[str], folder: Path, profile: str) -> list[object]:
    """The files of two agents at once, and what is said of each."""
    server = start(command, folder, "recv", "--dir", "received", "--name", "{number}.hprof", stderr=subprocess.PIPE)
    line = server.stdout.readline().decode()
    host, port = re.search(r"([\d.]+):(\d+)", line).groups()
    whole = stream(folder, profile)
    agents = [socket.create_connection((host, int(port)), TIMEOUT) for _ in range(2)]
    for agent in agents:
        agent.sendall(whole)
        agent.close()
    events = []
    while sum(b'"finished"' in event or b'"ended"' in event for event in events) < 2:
        event = server.stdout.readline()
        assert event, events
        assert not event.endswith(b"\r\n"), event
        events.append(event)
    server.kill()
    server.communicate(timeout=TIMEOUT)
    files = sorted((folder / "received").iterdir())
    return [[file.name for file in files], [file.read_bytes() for file in files]]


def sent(command: list[str], folder: Path, profile: str) -> list[object]:
    """What a collector gets."""
    got: list[object] = []

    class Collector(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append((self.path, self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Collector) as collector:
        threading.Thread(target=collector.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{collector.server_port}"
        sender = start(command, folder, "push", "--otlp", url, profile, stderr=subprocess.PIPE)
        _, said = sender.communicate(timeout=TIMEOUT)
        collector.shutdown()
    return [sender.returncode, said.decode().replace(url, "URL"), got]


if __name__ == "__main__":
    main()
