#!/usr/bin/env python3
"""Files that are made to take a lot, and what each command of `hprof` takes for them: user CPU seconds, megabytes of memory, and
output as a multiple of the file. Lists what is beyond the bounds, and exits with 1 where there is any."""

import argparse
import os
import struct
import subprocess
import sys

OBJECT, THREAD, ARRAY = 0x700000008, 0x700000010, 0x700000018
CLASSES, OBJECTS = 0x700010000, 0x710000000

COMMANDS = [
    "check", "check --strict", "text", "top", "top --by line", "top --by thread", "top --by trace", "top --json", "tree", "tree --json",
    "flame --to svg", "flame --to html", "report", "merge", "diff",
    "export --to collapsed", "export --to speedscope", "export --to pprof", "export --to otlp", "export --to json",
    "export --to firefox", "export --to parquet", "export --to parquet --retained",
    "heap summary", "heap histogram", "heap histogram --by site", "heap histogram --by loader", "heap histogram --by package",
    "heap histogram --retained", "heap leaks", "heap leaks --json",
    "heap retained --by object", "heap retained --by class", "heap retained --by class --exact", "heap retained --by site",
    "heap retained --by site --exact", "heap retained --by loader", "heap retained --by package",
    "heap threads", "heap threads --json", "heap paths --class java.lang.Object", "heap paths --object 0x710000000",
    "heap show 0x700000008", "heap show 0x710000000", "heap who --class java.lang.Object", "heap who --class java.lang.Object --exact",
    "heap diff", "heap diff --by site",
]


class File:
    """A binary profile, whose heap dump is written at the end."""

    def __init__(self):
        self.parts = [b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, 0)]
        self.heap = []
        self.size = self.heap_size = 0
        self.trace(1, [])
        for number, at, name in ((1, OBJECT, b"java/lang/Object"), (2, THREAD, b"java/lang/Thread"),
                                 (3, ARRAY, b"[Ljava/lang/Object;")):
            self.string(number, name)
            self.load(at, number)
            self.klass(at, 0 if at == OBJECT else OBJECT)

    def record(self, kind, body):
        self.parts.append(struct.pack(">BII", kind, 0, len(body)) + body)
        self.size += 9 + len(body)

    def string(self, number, text):
        self.record(0x01, struct.pack(">Q", number) + text)

    def load(self, at, name):
        self.record(0x02, struct.pack(">IQIQ", at & 0xFFFFFFFF, at, 1, name))

    def frame(self, number, name, at, line):
        self.record(0x04, struct.pack(">QQQQII", number, name, name, name, at & 0xFFFFFFFF, line))

    def trace(self, serial, frames, thread=0):
        self.record(0x05, struct.pack(f">III{len(frames)}Q", serial, thread, len(frames), *frames))

    def thread(self, serial, name):
        self.record(0x0A, struct.pack(">IQIQQQ", serial, OBJECTS + 16 * serial, 1, name, name, name))

    def samples(self, rows):
        self.record(0x0D, struct.pack(">II", len(rows), len(rows)) + b"".join(struct.pack(">II", *row) for row in rows))

    def sites(self, rows):
        head = struct.pack(">HIIIQQI", 0, 0, len(rows), len(rows), len(rows), len(rows), len(rows))
        self.record(0x06, head + b"".join(struct.pack(">BIIIIII", 0, at & 0xFFFFFFFF, trace, 1, 1, 1, 1) for at, trace in rows))

    def dump(self, piece):
        self.heap.append(piece)
        self.heap_size += len(piece)

    def klass(self, at, above, fields=(), statics=()):
        head = struct.pack(">BQIQQQQQQIH", 0x20, at, 1, above, 0, 0, 0, 0, 0, 8 * len(fields), 0)
        statics = b"".join(struct.pack(">QBQ", name, 2, value) for name, value in statics)
        fields = b"".join(struct.pack(">QB", name, 2) for name in fields)
        self.dump(head + struct.pack(">H", len(statics) // 17) + statics + struct.pack(">H", len(fields) // 9) + fields)

    def instance(self, at, klass, trace=1, fields=b""):
        self.dump(struct.pack(">BQIQI", 0x21, at, trace, klass, len(fields)) + fields)

    def array(self, at, elements, klass=ARRAY, trace=1):
        self.dump(struct.pack(f">BQIIQ{len(elements)}Q", 0x22, at, trace, len(elements), klass, *elements))

    def bytes(self, at, length):
        self.dump(struct.pack(">BQIIB", 0x23, at, 1, length, 8) + bytes(length))

    def root(self, at):
        self.dump(struct.pack(">BQ", 0x05, at))

    def thread_root(self, at, serial, trace=1):
        self.dump(struct.pack(">BQII", 0x08, at, serial, trace))

    def local(self, at, serial, frame=0):
        self.dump(struct.pack(">BQII", 0x03, at, serial, frame))

    def write(self, path, per_segment=None):
        pieces, size = [], 0
        for piece in [*self.heap, None]:
            if piece is None or size + len(piece) > (per_segment or 1 << 30):
                self.record(0x1C, b"".join(pieces))
                pieces, size = [], 0
            if piece is not None:
                pieces.append(piece)
                size += len(piece)
        self.record(0x2C, b"")
        with open(path, "wb") as file:
            file.writelines(self.parts)


def names(file, size):
    """Thousands of classes, objects and roots, and one long name for all."""
    file.string(9, b"N/" * (size // 4))
    for number in range(size // 400):
        at = CLASSES + 8 * number
        file.load(at, 9)
        file.klass(at, OBJECT)
        file.root(at)
        file.instance(OBJECTS + 8 * number, at)


def members(file, size):
    """One long name for every field, static field and method."""
    file.string(9, b"f" * (size // 4))
    for number in range(size // 2000):
        at = CLASSES + 8 * number
        file.load(at, 9)
        file.klass(at, OBJECT, [9] * 50, [(9, OBJECTS)] * 20)
        file.root(at)
        file.instance(OBJECTS + 1024 * number, at, 1, struct.pack(">Q", OBJECTS) * 50)


def chain(file, size):
    """Each class extends the one before, and has a field or none."""
    above = OBJECT
    file.string(9, b"x")
    for number in range(size // 140):
        at = CLASSES + 8 * number
        file.load(at, 9)
        file.klass(at, above, [9] if number % 1000 == 0 else [])
        above = at
    for number in range(2000):
        file.instance(OBJECTS + 4096 * number, above)


def threads(file, size):
    """Threads, of which each has two locals."""
    for number in range(1, size // 130):
        file.thread(number, 1)
        file.instance(OBJECTS + 16 * number, THREAD)
        file.thread_root(OBJECTS + 16 * number, number)
        file.local(OBJECT, number)


def frames(file, size):
    """Frames, each in a trace of its own."""
    for number in range(1, size // 95):
        file.frame(number, 1, OBJECT, number)
        file.trace(number + 1, [number])


def traces(file, size):
    """Traces of a thousand frames, of which each is sampled, is a site and has objects."""
    count = size // 8200
    for number in range(1, 1001):
        file.frame(number, 1, OBJECT, number)
    for number in range(count):
        step = number % 997 + 1
        file.trace(number + 2, [(at * step + number) % 1000 + 1 for at in range(1000)], number % 7)
    file.samples([(1, number + 2) for number in range(count)])
    file.sites([(OBJECT, number + 2) for number in range(count)])
    for number in range(count):
        file.root(OBJECTS + 16 * number)
        file.instance(OBJECTS + 16 * number, OBJECT, number + 2)


def short_traces(file, size):
    """Traces of eight frames that begin alike, each with a sample, a site and an object."""
    count = size // 190
    for number in range(1, 1001):
        file.frame(number, 1, OBJECT, number)
    for number in range(count):
        last = [(number // 1000 ** at) % 1000 + 1 for at in range(2)]
        file.trace(number + 2, [1, 2, 3, 4, 5, 6, *last])
    file.samples([(1, number + 2) for number in range(count)])
    file.sites([(OBJECT, number + 2) for number in range(count)])
    for number in range(count):
        file.root(OBJECTS + 16 * number)
        file.instance(OBJECTS + 16 * number, OBJECT, number + 2)


def long_traces(file, size):
    """A few traces of very many frames with a name of 100 KB."""
    file.string(9, b"n" * 100_000)
    file.load(CLASSES, 9)
    file.klass(CLASSES, OBJECT)
    for number in range(1, 1001):
        file.frame(number, 9, CLASSES, number)
    count = size // 8 // 20
    for number in range(20):
        file.trace(number + 2, [(at + number) % 1000 + 1 for at in range(count)])
    file.samples([(1, number + 2) for number in range(20)] * 100)
    file.sites([(OBJECT, number + 2) for number in range(20)])
    for number in range(1000):
        file.instance(OBJECTS + 16 * number, CLASSES, number % 20 + 2)
        file.root(OBJECTS + 16 * number)


def samples(file, size):
    """Rows that name the same few traces of a hundred frames again and again."""
    for number in range(1, 101):
        file.frame(number, 1, OBJECT, number)
    for number in range(100):
        file.trace(number + 2, [(at + number) % 100 + 1 for at in range(100)])
    file.samples([(1, number % 100 + 2) for number in range(size // 8)])


def sites(file, size):
    """Sites of as many classes, all with one stack of a thousand frames and a long name."""
    file.string(9, b"s" * 100_000)
    for number in range(1, 1001):
        file.frame(number, 9, OBJECT, number)
    file.trace(2, list(range(1, 1001)))
    count = size // 190
    for number in range(count):
        at = CLASSES + 8 * number
        file.load(at, 9)
        file.klass(at, OBJECT)
        file.instance(OBJECTS + 16 * number, at, 2)
        file.root(OBJECTS + 16 * number)
    file.sites([(CLASSES + 8 * number, 2) for number in range(count)])


def strings(file, size):
    """A few huge names, of bytes that a terminal would act on."""
    for number in range(3):
        file.string(10 + number, b"\x01\x1b\xff" * (size // 9))
        file.load(CLASSES + 8 * number, 10 + number)
        file.klass(CLASSES + 8 * number, OBJECT)
        file.frame(number + 1, 10 + number, CLASSES + 8 * number, 1)
        file.thread(number + 1, 10 + number)
    file.trace(2, [1, 2, 3])
    file.samples([(1, 2)])


def named_threads(file, size):
    """Threads with one huge name."""
    file.string(9, b"t" * (size // 2))
    for number in range(1, size // 140):
        file.thread(number, 9)
        file.instance(OBJECTS + 16 * number, THREAD)
        file.thread_root(OBJECTS + 16 * number, number)


def segments(file, size):
    """A segment for each object."""
    for number in range(size // 34):
        file.instance(OBJECTS + 16 * number, OBJECT)
    return 25


def dumps(file, size):
    """A heap dump for each object."""
    for number in range(size // 34):
        file.record(0x0C, struct.pack(">BQIQI", 0x21, OBJECTS + 16 * number, 1, OBJECT, 0))


def roots(file, size):
    """Roots of one object."""
    for number in range(size // 9):
        file.root(OBJECTS)
    file.instance(OBJECTS, OBJECT)


def arrays(file, size):
    """One array of references to itself, and arrays that refer to all before."""
    file.array(OBJECTS, [OBJECTS + 64 * at for at in range(size // 16)])
    file.root(OBJECTS)
    for number in range(1, size // 66):
        file.array(OBJECTS + 64 * number, [OBJECTS, OBJECTS + 64 * (number // 2)])


def linked(file, size):
    """A list as long as the dump."""
    file.string(9, b"next")
    file.load(CLASSES, 9)
    file.klass(CLASSES, OBJECT, [9])
    file.root(OBJECTS)
    count = size // 33
    for number in range(count):
        file.instance(OBJECTS + 16 * number, CLASSES, 1, struct.pack(">Q", OBJECTS + 16 * (number + 1)))


def empty_arrays(file, size):
    """Arrays without elements, which are objects of 17 bytes."""
    for number in range(size // 18):
        file.dump(struct.pack(">BQIIB", 0x23, OBJECTS + 16 * number, 1, 0, 8))


def text_bytes(file, size):
    """An array of bytes, which text has in decimal."""
    file.bytes(OBJECTS, size)


def loaders(file, size):
    """A loader for each class."""
    for number in range(size // 180):
        at, loader = CLASSES + 8 * number, OBJECTS + 16 * number
        file.load(at, 1)
        file.dump(struct.pack(">BQIQQQQQQIHHH", 0x20, at, 1, OBJECT, loader, 0, 0, 0, 0, 0, 0, 0, 0))
        file.instance(loader, OBJECT)
        file.root(loader)


KINDS = [names, members, chain, threads, frames, traces, short_traces, long_traces, samples, sites, strings, named_threads, segments, dumps,
         roots, arrays, linked, empty_arrays, text_bytes, loaders]


def generate(kind, megabytes, path):
    file = File()
    per_segment = kind(file, megabytes << 20)
    file.write(path, per_segment)


def run(hprof, command, path, folder, patience):
    words = command.split()
    head = words[:2] if words[0] == "heap" else words[:1]
    rest = words[len(head):]
    out = os.path.join(folder, "out")
    path_out = out + ".file"
    arguments = [hprof, *head]
    if "diff" in head:
        arguments += [path, path]
    elif "parquet" in words:
        arguments += [path, "-o", os.path.join(folder, "tables")]
    elif words[0] == "flame":
        # The name says which of the two it is.
        path_out = f"{out}.{rest[-1]}"
        arguments += [path, "-o", path_out]
        rest = []
    elif command in ("report", "merge"):
        arguments += [path, "-o", path_out]
    else:
        arguments += [path]
    arguments += rest
    with open(out, "wb") as stdout, open(out + ".err", "wb") as stderr:
        process = subprocess.Popen(
            ["prlimit", f"--cpu={patience}", "--fsize=20000000000", "--as=12000000000", *arguments],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    written = os.path.getsize(out)
    if os.path.exists(path_out):
        written += os.path.getsize(path_out)
        os.remove(path_out)
    subprocess.run(["rm", "-rf", os.path.join(folder, "tables")], check=True)
    with open(out + ".err", errors="replace") as stderr:
        said = stderr.readline().strip()[:100]
    return process.returncode, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, written / os.path.getsize(path), said


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hprof", required=True, help="the command")
    parser.add_argument("--folder", required=True, help="where the files go, which are large")
    parser.add_argument("--megabytes", type=int, default=30)
    parser.add_argument("--kind", action="append", help="only these: " + ", ".join(kind.__name__ for kind in KINDS))
    parser.add_argument("--command", action="append", help="only these commands")
    parser.add_argument("--seconds", type=float, default=10, help="CPU seconds that are allowed")
    parser.add_argument("--memory", type=int, default=1024, help="megabytes of memory that are allowed")
    parser.add_argument("--output", type=float, default=100, help="output that is allowed, as a multiple of the file")
    parser.add_argument("--all", action="store_true", help="list what is within the bounds, too")
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    beyond = 0
    print(f"{'file':14} {'command':32} {'rc':>4} {'CPU s':>6} {'MB':>6} {'output':>7}")
    for kind in KINDS:
        if arguments.kind and kind.__name__ not in arguments.kind:
            continue
        path = os.path.join(arguments.folder, kind.__name__ + ".hprof")
        # Not in this process, whose size at its start is counted as each command's.
        if (child := os.fork()) == 0:
            generate(kind, arguments.megabytes, path)
            os._exit(0)
        if os.waitpid(child, 0)[1] != 0:
            sys.exit(f"{path} cannot be made")
        for command in arguments.command or COMMANDS:
            code, seconds, memory, ratio, said = run(arguments.hprof, command, path, arguments.folder, 60)
            # A refusal has a line.
            fails = code not in (0, 1, 3) or (code == 1 and not said)
            is_beyond = fails or seconds > arguments.seconds or memory > arguments.memory or ratio > arguments.output
            beyond += is_beyond
            if is_beyond or arguments.all:
                print(f"{kind.__name__:14} {command:32} {code:4} {seconds:6.1f} {memory:6.0f} {ratio:6.1f}x {said}", flush=True)
        os.remove(path)
    print(f"{beyond} beyond {arguments.seconds:g} s of CPU, {arguments.memory} MB or {arguments.output:g} times the file")
    sys.exit(beyond > 0)


if __name__ == "__main__":
    main()
