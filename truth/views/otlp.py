"""`hprof push`, as OpenTelemetry's collector understands it and sends it on."""

import contextlib
import http.server
import json
import socket
import subprocess
import threading
import time

from suite import runs
from suite.answers import CannotRun

from . import row

NAME = "otlp"
SETTINGS = """\
receivers: {{otlp: {{protocols: {{http: {{endpoint: "127.0.0.1:{port}"}}}}}}}}
exporters:
  otlp_http: {{profiles_endpoint: "http://127.0.0.1:{to}/", compression: none, encoding: json, sending_queue: {{enabled: false}}}}
service: {{telemetry: {{metrics: {{level: none}}}}, pipelines: {{profiles: {{receivers: [otlp], exporters: [otlp_http]}}}}}}
"""
# So long may the collector take to start.
PATIENCE = 60


def command(places):
    return places.tool("HPROF_OTELCOL", "bin/otelcol")


def find(places):
    if not command(places):
        raise CannotRun("there is no otelcol")


def read(run, file):
    with backend() as (to, received), collector(run, to) as port:
        runs.call(run.places.cli, "push", "--otlp", f"http://127.0.0.1:{port}", file)
    return [each for request in received for each in rows(json.loads(request))]


@contextlib.contextmanager
def backend():
    """Where the collector sends to."""
    received = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            received.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield server.server_port, received
        finally:
            server.shutdown()


@contextlib.contextmanager
def collector(run, to):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = run.folder / "collector.yaml"
    settings.write_text(SETTINGS.format(port=port, to=to))
    words = [command(run.places), "--config", settings, "--feature-gates", "service.profilesSupport"]
    process = subprocess.Popen([str(word) for word in words], stderr=subprocess.DEVNULL, env=runs.environment())
    try:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except OSError as error:
                if process.poll() is not None or time.monotonic() > end:
                    raise CannotRun("the collector did not start") from error
                time.sleep(0.05)
        yield port
    finally:
        process.kill()
        process.wait()


def rows(request):
    tables = request["dictionary"]
    text = tables["stringTable"]

    def frame(location):
        line = tables["locationTable"][location]["lines"][0]
        return text[tables["functionTable"][line["functionIndex"]]["nameStrindex"]], int(line.get("line", 0)) or None

    def attributes(indices):
        found = [tables["attributeTable"][index] for index in indices]
        return {text[each["keyStrindex"]].removeprefix("hprof."): each["value"].get("stringValue") for each in found}

    for of_resource in request["resourceProfiles"]:
        for scope in of_resource["scopeProfiles"]:
            for profile in scope["profiles"]:
                kind = profile["sampleType"]
                for sample in profile["samples"]:
                    stack = [frame(index) for index in tables["stackTable"][sample["stackIndex"]].get("locationIndices", [])]
                    labels = attributes(sample.get("attributeIndices", []))
                    value = sum(int(each) for each in sample["values"])
                    yield from row(stack, text[kind["typeStrindex"]], text[kind["unitStrindex"]], value, labels)
