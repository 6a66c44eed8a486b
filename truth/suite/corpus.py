"""Makes the conformance corpus: small HPROF files from the description in `truth/corpus/files.txt`.

It knows the layout of every record by tables of its own, and shares nothing with the reader in `dump.py`, which checks
what comes out, nor with any tool.
"""

from __future__ import annotations

import dataclasses
import gzip
import pathlib
import shlex
import struct

DESCRIPTION = pathlib.Path(__file__).resolve().parent.parent / "corpus" / "files.txt"
# Records: tag, and the fields with their widths: `id`, 1, 2, 4 or 8 bytes, `utf8` to the end, or a list with its own form.
RECORDS = {
    "STRING": (0x01, "id:id text:utf8"),
    "LOAD_CLASS": (0x02, "serial:4 class:id trace:4 name:id"),
    "UNLOAD_CLASS": (0x03, "serial:4"),
    "FRAME": (0x04, "id:id method:id signature:id source:id class:4 line:4"),
    "TRACE": (0x05, "serial:4 thread:4 frames:ids"),
    "ALLOC_SITES": (0x06, "flags:2 cutoff:4 live_bytes:4 live:4 bytes:8 objects:8 sites:sites"),
    "HEAP_SUMMARY": (0x07, "live_bytes:4 live:4 bytes:8 objects:8"),
    "START_THREAD": (0x0A, "serial:4 object:id trace:4 name:id group:id parent:id"),
    "END_THREAD": (0x0B, "serial:4"),
    "CPU_SAMPLES": (0x0D, "total:4 samples:samples"),
    "CONTROL_SETTINGS": (0x0E, "flags:4 depth:2"),
}
DUMPS = {"dump": 0x0C, "segment": 0x1C}
SUB_RECORDS = {
    "ROOT_UNKNOWN": (0xFF, "id:id"),
    "ROOT_JNI_GLOBAL": (0x01, "id:id ref:id"),
    "ROOT_JNI_LOCAL": (0x02, "id:id thread:4 frame:4"),
    "ROOT_JAVA_FRAME": (0x03, "id:id thread:4 frame:4"),
    "ROOT_NATIVE_STACK": (0x04, "id:id thread:4"),
    "ROOT_STICKY_CLASS": (0x05, "id:id"),
    "ROOT_THREAD_BLOCK": (0x06, "id:id thread:4"),
    "ROOT_MONITOR_USED": (0x07, "id:id"),
    "ROOT_THREAD_OBJECT": (0x08, "id:id thread:4 trace:4"),
    "CLASS": (
        0x20,
        "id:id trace:4 super:id loader:id signers:id domain:id reserved1:id reserved2:id size:4 "
        "constants:constants statics:statics fields:described",
    ),
    "INSTANCE": (0x21, "id:id trace:4 class:id values:values"),
    "OBJECT_ARRAY": (0x22, "id:id trace:4 elements:elements"),
    "PRIMITIVE_ARRAY": (0x23, "id:id trace:4 values:primitives"),
    "ROOT_INTERNED_STRING": (0x89, "id:id"),
    "ROOT_FINALIZING": (0x8A, "id:id"),
    "ROOT_DEBUGGER": (0x8B, "id:id"),
    "ROOT_REFERENCE_CLEANUP": (0x8C, "id:id"),
    "ROOT_VM_INTERNAL": (0x8D, "id:id"),
    "ROOT_JNI_MONITOR": (0x8E, "id:id thread:4 frame:4"),
    "ROOT_UNREACHABLE": (0x90, "id:id"),
    "PRIMITIVE_ARRAY_NODATA": (0xC3, "id:id trace:4 values:nodata"),
    "HEAP_DUMP_INFO": (0xFE, "heap:4 name:id"),
}
# Types by the letter of their descriptor: code, and format of `struct`.
TYPES = {
    "L": (2, ""), "Z": (4, "B"), "C": (5, "H"), "F": (6, "f"), "D": (7, "d"), "B": (8, "b"), "S": (9, "h"), "I": (10, "i"), "J": (11, "q"),
}  # fmt: skip


@dataclasses.dataclass
class File:
    """One file of the corpus, as it is described."""

    name: str
    say: str
    why: str
    ids: list[int]
    versions: list[str]
    lines: list[tuple[int, str]]

    @property
    def is_sound(self) -> bool | None:
        """None if the format does not decide."""
        return None if self.say == "either" else self.say != "broken"


class Fault(Exception):
    """The description has a fault; the message begins with the line."""


def describe(text: str) -> list[File]:
    """Reads the description."""
    files: list[File] = []
    parts: dict[str, list[tuple[int, str]]] = {}
    into: list[tuple[int, str]] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        line = line.split("#")[0].strip()
        word, _, rest = line.partition(" ")
        if not line:
            continue
        if word == "part":
            into = parts[rest] = []
        elif word == "file":
            files.append(File(rest, "sound", "", [4, 8], ["1.0.2"], []))
            into = files[-1].lines
        elif into is None:
            raise Fault(f"line {number}: `{word}` stands outside of a file")
        elif word in ("sound", "odd", "broken", "either"):
            files[-1].say, files[-1].why = word, rest
        elif word == "ids":
            files[-1].ids = [int(size) for size in rest.split()]
        elif word == "versions":
            files[-1].versions = rest.split()
        elif word == "use":
            if rest not in parts:
                raise Fault(f"line {number}: there is no part {rest}")
            into += parts[rest]
        else:
            into.append((number, line))
    return files


def make(folder: pathlib.Path, description: str | None = None) -> list[tuple[File, pathlib.Path]]:
    """Writes all files into a folder and returns them: each in every size of ids and every version that it names."""
    made = []
    for file in describe(DESCRIPTION.read_text(encoding="utf-8") if description is None else description):
        for version in file.versions:
            for size in file.ids:
                path = folder / f"{file.name}-{version}-id{size}.hprof"
                path.write_bytes(Writer(size, version).write(file.lines))
                made.append((file, path))
    return made


class Writer:
    """Writes one file."""

    def __init__(self, id_size: int, version: str):
        self.id_size = id_size
        self.version = version
        self.body: bytearray | None = None

    def write(self, lines: list[tuple[int, str]]) -> bytes:
        out = (
            bytearray(f"JAVA PROFILE {self.version}\0".encode()) + self.id_size.to_bytes(4, "big") + (1_700_000_000_000).to_bytes(8, "big")
        )
        packed = False
        for number, line in lines:
            try:
                word, *given = shlex.split(line)
                packed = self.line(out, word, given) or packed
            except Fault:
                raise
            except (KeyError, ValueError, struct.error) as error:
                raise Fault(f"line {number}: {line}: {error!r}") from error
        if packed:
            data = gzip.compress(bytes(out), mtime=0)
            return data[: len(data) - self.cut] if packed == "cut" else data
        return bytes(out)

    def line(self, out: bytearray, word: str, given: list[str]) -> object:
        """Carries out one line of the description."""
        values = dict(part.split("=", 1) for part in given if "=" in part)
        target = out if self.body is None else self.body
        if word in DUMPS:
            self.body, self.tag, self.length = bytearray(), DUMPS[word], values.get("length")
        elif word == "close":
            body, self.body = self.body, None
            out += self.record(self.tag, bytes(body), self.length)
        elif word == "end":
            out += self.record(0x2C, b"")
        elif word == "bytes":
            target += bytes.fromhex("".join(given))
        elif word == "head":
            # Another head than this one's.
            out[:] = bytes.fromhex(values["hex"]) if "hex" in values else self.head(values)
        elif word == "cut":
            del out[len(out) - int(given[0]) :]
        elif word == "gzip":
            self.cut = int(values.get("cut", "0"))
            return "cut" if self.cut else True
        elif word == "RECORD":
            out += self.record(int(values["tag"], 0), bytes.fromhex(values.get("body", "")), values.get("length"))
        elif word in RECORDS:
            tag, form = RECORDS[word]
            out += self.record(tag, self.fields(form, values), values.get("length"), int(values.get("time", "0"), 0))
        elif word in SUB_RECORDS:
            tag, form = SUB_RECORDS[word]
            self.body += bytes([tag]) + self.fields(form, values)
        else:
            raise KeyError(f"{word} is no record")
        return None

    def head(self, values: dict[str, str]) -> bytes:
        text = values.get("text", f"JAVA PROFILE {self.version}")
        return text.encode() + b"\0" + int(values.get("id", self.id_size)).to_bytes(4, "big") + bytes(8)

    def record(self, tag: int, body: bytes, length: str | None = None, time: int = 0) -> bytes:
        stated = len(body) if length is None else int(length, 0) if length[0] not in "+-" else len(body) + int(length)
        return bytes([tag]) + time.to_bytes(4, "big") + stated.to_bytes(4, "big") + body

    def id(self, text: str) -> bytes:
        return int(text, 0).to_bytes(self.id_size, "big")

    def fields(self, form: str, values: dict[str, str]) -> bytes:
        out = b""
        for field in form.split():
            name, width = field.split(":")
            given = values.get(name, "")
            if width == "id":
                out += self.id(given or "0")
            elif width == "utf8":
                out += bytes.fromhex(values["hex"]) if "hex" in values else given.encode()
            elif width.isdigit():
                out += (int(given or "0", 0) % (1 << 8 * int(width))).to_bytes(int(width), "big")
            else:
                out += getattr(self, width)(given.split(",") if given else [], values)
        return out

    def value(self, text: str) -> bytes:
        """`I:5`: a value without its type."""
        letter, _, value = text.partition(":")
        if letter == "L":
            return self.id(value)
        _, form = TYPES[letter]
        return struct.pack(">" + form, float(value) if form in "fd" else int(value, 0))

    def counted(self, items: list[str], values: dict[str, str], size: int) -> bytes:
        return int(values.get("count", str(len(items))), 0).to_bytes(size, "big")

    # The lists, by the names in the tables.

    def ids(self, items: list[str], values: dict[str, str]) -> bytes:
        return self.counted(items, values, 4) + b"".join(map(self.id, items))

    def sites(self, items: list[str], values: dict[str, str]) -> bytes:
        """`array:class:trace:live_bytes:live:bytes:objects`"""
        out = self.counted(items, values, 4)
        for item in items:
            array, *rest = (int(number, 0) for number in item.split(":"))
            out += bytes([array]) + b"".join(number.to_bytes(4, "big") for number in rest)
        return out

    def samples(self, items: list[str], values: dict[str, str]) -> bytes:
        """`count:trace`"""
        numbers = (int(number, 0) for item in items for number in item.split(":"))
        return self.counted(items, values, 4) + b"".join(number.to_bytes(4, "big") for number in numbers)

    def constants(self, items: list[str], values: dict[str, str]) -> bytes:
        """`index:type:value`"""
        out = len(items).to_bytes(2, "big")
        for item in items:
            index, typed = item.split(":", 1)
            out += int(index).to_bytes(2, "big") + bytes([TYPES[typed[0]][0]]) + self.value(typed)
        return out

    def statics(self, items: list[str], values: dict[str, str]) -> bytes:
        """`name:type:value`"""
        out = len(items).to_bytes(2, "big")
        for item in items:
            name, typed = item.split(":", 1)
            out += self.id(name) + bytes([TYPES[typed[0]][0]]) + self.value(typed)
        return out

    def described(self, items: list[str], values: dict[str, str]) -> bytes:
        """`name:type`, or `name:NUMBER` for a type that is none."""
        out = len(items).to_bytes(2, "big")
        for item in items:
            name, letter = item.split(":")
            out += self.id(name) + bytes([int(letter) if letter.isdigit() else TYPES[letter][0]])
        return out

    def elements(self, items: list[str], values: dict[str, str]) -> bytes:
        return self.counted(items, values, 4) + self.id(values["class"]) + b"".join(map(self.id, items))

    def primitives(self, items: list[str], values: dict[str, str]) -> bytes:
        letter = values["type"]
        code = int(letter) if letter.isdigit() else TYPES[letter][0]
        return self.counted(items, values, 4) + bytes([code]) + b"".join(self.value(f"{letter}:{item}") for item in items)

    def nodata(self, items: list[str], values: dict[str, str]) -> bytes:
        return int(values["count"]).to_bytes(4, "big") + bytes([TYPES[values["type"]][0]])

    def values(self, items: list[str], values: dict[str, str]) -> bytes:
        raw = b"".join(map(self.value, items))
        return int(values.get("size", str(len(raw)))).to_bytes(4, "big") + raw
