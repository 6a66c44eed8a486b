"""Small HPROF files with known sums, written byte by byte."""

import struct

STRING, LOAD_CLASS, FRAME, TRACE, ALLOC_SITES, START_THREAD, CPU_SAMPLES = 0x01, 0x02, 0x04, 0x05, 0x06, 0x0A, 0x0D
HOUR = 3_600_000


def profile(samples, sites=(), started=0):
    """Return a binary profile.

    samples: (thread, stack, count); sites: (class, stack, live bytes, live objects, bytes, objects). A stack is
    a tuple of (class, method, line), innermost first.
    """
    written = _Profile(started)
    counted = [(count, written.trace(stack, thread)) for thread, stack, count in samples]
    listed = [(written.class_serial(name), written.trace(stack, None), *sums) for name, stack, *sums in sites]
    body = struct.pack(">II", sum(count for count, _ in counted), len(counted))
    written.record(CPU_SAMPLES, body + b"".join(struct.pack(">II", *row) for row in counted))
    if listed:
        totals = [sum(column) for column in list(zip(*listed))[2:]]
        rows = b"".join(struct.pack(">BIIIIII", 0, *row) for row in listed)
        written.record(ALLOC_SITES, struct.pack(">HfIIQQI", 0, 0.0, *totals, len(listed)) + rows)
    return bytes(written.out)


class _Profile:
    def __init__(self, started):
        self.out = bytearray(b"JAVA PROFILE 1.0.2\0" + struct.pack(">IQ", 8, started))
        self.strings, self.classes, self.frames, self.threads, self.traces = {}, {}, {}, {}, {}

    def record(self, tag, body):
        self.out += struct.pack(">BII", tag, 0, len(body)) + body

    def string(self, text):
        if text not in self.strings:
            self.strings[text] = 1000 + len(self.strings)
            self.record(STRING, struct.pack(">Q", self.strings[text]) + text.encode())
        return self.strings[text]

    def class_serial(self, name):
        if name not in self.classes:
            text = self.string(name.replace(".", "/"))
            self.classes[name] = 1 + len(self.classes)
            self.record(LOAD_CLASS, struct.pack(">IQIQ", self.classes[name], 0, 0, text))
        return self.classes[name]

    def frame(self, frame):
        if frame not in self.frames:
            name, method, line = frame
            texts = self.string(method), self.string("()V"), self.string("Some.java")
            serial = self.class_serial(name)
            self.frames[frame] = 5000 + len(self.frames)
            self.record(FRAME, struct.pack(">QQQQIi", self.frames[frame], *texts, serial, line))
        return self.frames[frame]

    def thread(self, name):
        if name is None:
            return 0
        if name not in self.threads:
            texts = self.string(name), self.string("main"), self.string("system")
            self.threads[name] = 1 + len(self.threads)
            self.record(START_THREAD, struct.pack(">IQIQQQ", self.threads[name], 0, 0, *texts))
        return self.threads[name]

    def trace(self, stack, thread):
        key = stack, thread
        if key not in self.traces:
            frames = [self.frame(frame) for frame in stack]
            self.traces[key] = 1 + len(self.traces)
            head = struct.pack(">III", self.traces[key], self.thread(thread), len(frames))
            self.record(TRACE, head + b"".join(struct.pack(">Q", frame) for frame in frames))
        return self.traces[key]


MAIN = ("app.Main", "main", 5)
HOT = ("app.Hot", "spin", 10)
TOOL = ("Tool", "run", 7)
LAMBDA = ("app.Main$$Lambda/0x00007f12a400{:04x}", "apply", 1)


def fleet(folder, count=10):
    """Write files of two hosts and two hours, with the same stacks under other ids, and one unique stack each."""
    for number in range(count):
        hidden = (LAMBDA[0].format(number), *LAMBDA[1:])
        samples = [
            ("worker", (HOT, MAIN), 100 + number),
            ("other", (HOT, HOT, MAIN), 10),
            ("worker", (TOOL, hidden, MAIN), 3 * number),
            ("worker", (("app.Own", f"only{number}", 1), MAIN), 1),
            ("worker", (), 2),
        ]
        sites = [
            ("java.lang.String", (HOT, MAIN), 24 * number, number, 2400, 100),
            ("[I", (TOOL, MAIN), 16, 1, 1600 + number, 100),
        ]
        # Every second file numbers everything in reverse.
        ordered = samples if number % 2 else samples[::-1]
        content = profile(ordered, sites, started=1_700_000_000_000 + number % 2 * 2 * HOUR)
        (folder / f"web-{number % 2}-{number}.hprof").write_bytes(content)
