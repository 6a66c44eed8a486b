"""An HPROF reader of the suite's own, written from the format's description and from nothing else.

It shares no code with any tool that the suite judges. It keeps every object, checks what a reader can check, and raises
`Broken` with the byte offset of the first fault.
"""

from __future__ import annotations

import dataclasses
import gzip
import pathlib
import struct

# Basic types: code, size (0: the id's), and how `struct` reads it.
TYPES = {
    2: (0, "I"),
    4: (1, "?"),
    5: (2, "H"),
    6: (4, "f"),
    7: (8, "d"),
    8: (1, "b"),
    9: (2, "h"),
    10: (4, "i"),
    11: (8, "q"),
}
PRIMITIVES = {4: "boolean", 5: "char", 6: "float", 7: "double", 8: "byte", 9: "short", 10: "int", 11: "long"}
VERSIONS = ("1.0", "1.0.1", "1.0.2", "1.0.3")
# Roots: their name, and what follows the object: `i` an id, `4` four bytes.
ROOTS = {
    0xFF: ("unknown", ""), 0x01: ("jni global", "i"), 0x02: ("jni local", "44"), 0x03: ("java frame", "44"),
    0x04: ("native stack", "4"), 0x05: ("sticky class", ""), 0x06: ("thread block", "4"), 0x07: ("monitor", ""),
    0x08: ("thread", "44"),
}  # fmt: skip
ANDROID_ROOTS = {
    0x89: ("interned string", ""), 0x8A: ("finalizing", ""), 0x8B: ("debugger", ""), 0x8C: ("reference cleanup", ""),
    0x8D: ("vm internal", ""), 0x8E: ("jni monitor", "44"), 0x90: ("unreachable", ""),
}  # fmt: skip
# Records whose bodies have a fixed form: name, and the form (`i` an id, digits the bytes of a number).
FORMS = {0x02: "4i4i", 0x03: "4", 0x04: "iiii44", 0x07: "4488", 0x0A: "4i4iii", 0x0B: "4", 0x0E: "42", 0x2C: ""}


class Broken(Exception):
    """The first fault of a file, with its offset."""

    def __init__(self, offset: int, what: str):
        super().__init__(f"byte {offset}: {what}")
        self.offset = offset
        self.what = what


@dataclasses.dataclass
class Class:
    """A CLASS DUMP; fields are name, type and, of statics, value."""

    id: int
    super: int
    loader: int
    size: int
    statics: list[tuple[str, int, object]]
    fields: list[tuple[str, int]]
    name: str = "?"


@dataclasses.dataclass
class Heap:
    """The contents of a file."""

    version: str = ""
    id_size: int = 0
    strings: dict[int, str] = dataclasses.field(default_factory=dict)
    classes: dict[int, Class] = dataclasses.field(default_factory=dict)
    # Objects: the class's id and the raw fields; ids of the elements; the type and the raw elements.
    instances: dict[int, tuple[int, bytes]] = dataclasses.field(default_factory=dict)
    object_arrays: dict[int, tuple[int, tuple[int, ...]]] = dataclasses.field(default_factory=dict)
    primitive_arrays: dict[int, tuple[int, bytes, int]] = dataclasses.field(default_factory=dict)
    roots: list[tuple[str, int, tuple[int, ...]]] = dataclasses.field(default_factory=list)
    frames: dict[int, str] = dataclasses.field(default_factory=dict)
    traces: dict[int, tuple[int, ...]] = dataclasses.field(default_factory=dict)
    records: dict[int, int] = dataclasses.field(default_factory=dict)
    sub_records: dict[int, int] = dataclasses.field(default_factory=dict)
    classes_by_serial: dict[int, int] = dataclasses.field(default_factory=dict)
    names: dict[int, str] = dataclasses.field(default_factory=dict)
    layouts: dict[int, list[tuple[str, int, int]]] = dataclasses.field(default_factory=dict)

    def class_of(self, id: int) -> str:
        """Returns the class of an object, as in Java source."""
        if id in self.instances:
            return self.name_of(self.instances[id][0])
        if id in self.object_arrays:
            return self.name_of(self.object_arrays[id][0])
        if id in self.primitive_arrays:
            return PRIMITIVES[self.primitive_arrays[id][0]] + "[]"
        return "java.lang.Class" if id in self.classes else "?"

    def name_of(self, class_id: int) -> str:
        return source_name(self.names.get(class_id, "?"))

    def layout(self, class_id: int) -> list[tuple[str, int, int]]:
        """Returns the fields of an instance in the order of its bytes: name, type, offset; inherited ones follow."""
        known = self.layouts.get(class_id)
        if known is not None:
            return known
        fields, offset, at = [], 0, class_id
        while at:
            described = self.classes[at]
            for name, kind in described.fields:
                fields.append((name, kind, offset))
                offset += TYPES[kind][0] or self.id_size
            at = described.super
        self.layouts[class_id] = fields
        return fields

    def field(self, id: int, name: str) -> tuple[int, object]:
        """Returns type and value of a field; of several with the name, that of the class nearest to the object's."""
        class_id, raw = self.instances[id]
        for field, kind, offset in self.layout(class_id):
            if field == name:
                return kind, number(raw, offset, kind, self.id_size)
        raise KeyError(f"{self.name_of(class_id)} has no field {name}")

    def references(self, id: int) -> list[int]:
        """Returns what an object refers to, nulls included."""
        if id in self.object_arrays:
            return list(self.object_arrays[id][1])
        if id in self.instances:
            class_id, raw = self.instances[id]
            fields = (field for field in self.layout(class_id) if field[1] == 2)
            return [int(number(raw, offset, 2, self.id_size)) for _, _, offset in fields]
        if id in self.classes:
            of = self.classes[id]
            return [of.super, of.loader, *(int(value) for _, kind, value in of.statics if kind == 2)]
        return []

    def text(self, id: int) -> str:
        """Returns the text of a String: compact (a byte array and a coder) or of chars."""
        _, array = self.field(id, "value")
        kind, raw, _ = self.primitive_arrays[int(array)]
        if kind == 5:
            return raw.decode("utf-16-be")
        _, coder = self.field(id, "coder")
        # The bytes of a string are in the order of the machine that wrote the dump, which is little-endian here.
        return raw.decode("latin-1" if coder == 0 else "utf-16-le")

    def counts(self) -> dict[str, int]:
        """Returns the number of objects of each class."""
        counts: dict[str, int] = {}
        for ids in (self.instances, self.object_arrays, self.primitive_arrays):
            for id in ids:
                name = self.class_of(id)
                counts[name] = counts.get(name, 0) + 1
        return counts


def source_name(name: str) -> str:
    """Returns `[Ljava/lang/String;` as `java.lang.String[]`."""
    dimensions = len(name) - len(name.lstrip("["))
    if dimensions:
        codes = dict(zip("ZCFDBSIJ", ("boolean", "char", "float", "double", "byte", "short", "int", "long"), strict=True))
        name = name[dimensions:]
        name = name[1:].rstrip(";") if name.startswith("L") else codes.get(name, name)
    # The suffix of a hidden class is separated by a dot in files.
    return name.replace("/", ".") + "[]" * dimensions


def number(raw: bytes, offset: int, kind: int, id_size: int) -> object:
    size, code = TYPES[kind]
    if kind == 2:
        return int.from_bytes(raw[offset : offset + id_size], "big")
    return struct.unpack_from(">" + code, raw, offset)[0] if size else None


class Cursor:
    """A place in the bytes, and an end that must not be passed."""

    def __init__(self, data: bytes, at: int, end: int, id_size: int):
        self.data, self.at, self.end, self.id_size = data, at, end, id_size

    def take(self, size: int, what: str) -> bytes:
        if size > self.end - self.at:
            raise Broken(self.at, f"{what} needs {size} bytes, and {self.end - self.at} are left")
        self.at += size
        return self.data[self.at - size : self.at]

    def number(self, size: int, what: str) -> int:
        return int.from_bytes(self.take(size, what), "big")

    def id(self, what: str) -> int:
        return self.number(self.id_size, what)


def read(path: pathlib.Path) -> Heap:
    """Reads a file whole; raises `Broken` at the first fault."""
    data = path.read_bytes()
    if data[:2] == b"\x1f\x8b":
        try:
            data = gzip.decompress(data)
        except (EOFError, OSError) as error:
            raise Broken(0, f"gzip: {error}") from error
    return parse(data)


def parse(data: bytes) -> Heap:
    heap = Heap()
    end = data.find(b"\0", 0, 64)
    text = data[: max(end, 0)].decode("ascii", "replace")
    if not text.startswith("JAVA PROFILE ") or text[13:] not in VERSIONS:
        raise Broken(0, "the file does not begin with JAVA PROFILE and a known version")
    heap.version = text[13:]
    head = Cursor(data, end + 1, len(data), 0)
    heap.id_size = head.number(4, "the size of ids")
    if heap.id_size not in (4, 8):
        raise Broken(end + 1, f"ids of {heap.id_size} bytes")
    head.number(8, "the time")
    at = head.at
    while at < len(data):
        record = Cursor(data, at, len(data), heap.id_size)
        tag = record.number(1, "a tag")
        record.number(4, "a record's time")
        length = record.number(4, "a record's length")
        if length > len(data) - record.at:
            raise Broken(at, f"record 0x{tag:02x} has {length} bytes, and {len(data) - record.at} are left")
        record.end = record.at + length
        heap.records[tag] = heap.records.get(tag, 0) + 1
        read_record(heap, tag, record, at)
        at = record.end
    check(heap, len(data))
    return heap


def read_record(heap: Heap, tag: int, body: Cursor, at: int) -> None:
    """Reads one record; unknown tags are passed over, as the format asks."""
    length = body.end - body.at
    if tag == 0x01:
        id = body.id("a string's id")
        heap.strings[id] = body.take(body.end - body.at, "a string").decode("utf-8", "replace")
    elif tag in FORMS:
        sizes = [heap.id_size if form == "i" else int(form) for form in FORMS[tag]]
        if sum(sizes) != length:
            raise Broken(at, f"record 0x{tag:02x} has {length} bytes instead of {sum(sizes)}")
        values = [body.number(size, "a field") for size in sizes]
        read_fixed(heap, tag, values, at)
    elif tag == 0x05:
        serial, _, count = (body.number(4, "a trace") for _ in range(3))
        if length != 12 + count * heap.id_size:
            raise Broken(at, f"a trace of {count} frames has {length} bytes")
        frames = tuple(body.id("a frame") for _ in range(count))
        for frame in frames:
            if frame not in heap.frames:
                raise Broken(at, f"trace {serial} names frame {frame}, which is not defined before it")
        heap.traces[serial] = frames
    elif tag == 0x06:
        body.take(2 + 4 + 4 + 4 + 8 + 8, "allocation sites")
        count = body.number(4, "the number of sites")
        if body.end - body.at != count * 25:
            raise Broken(at, f"{count} sites do not take {body.end - body.at} bytes")
    elif tag == 0x0D:
        body.number(4, "the number of samples")
        count = body.number(4, "the number of traces")
        if body.end - body.at != count * 8:
            raise Broken(at, f"{count} traces do not take {body.end - body.at} bytes")
    elif tag in (0x0C, 0x1C):
        while body.at < body.end:
            read_sub_record(heap, body)


def read_fixed(heap: Heap, tag: int, values: list[int], at: int) -> None:
    if tag == 0x02:
        serial, id, _, name = values
        if name not in heap.strings:
            raise Broken(at, f"class {id} has a name that is not defined before it")
        heap.classes_by_serial[serial] = id
        heap.names[id] = heap.strings[name]
    elif tag == 0x04:
        frame, method, signature, source, serial, _ = values
        for string in (method, signature, source):
            if string and string not in heap.strings:
                raise Broken(at, f"frame {frame} names string {string}, which is not defined before it")
        # Serial 0 stands for a class that is not known.
        if serial and serial not in heap.classes_by_serial:
            raise Broken(at, f"frame {frame} names class {serial}, which is not loaded before it")
        owner = heap.names.get(heap.classes_by_serial.get(serial, 0), "?")
        heap.frames[frame] = f"{source_name(owner)}.{heap.strings.get(method, '?')}"


def read_sub_record(heap: Heap, body: Cursor) -> None:
    at = body.at
    tag = body.number(1, "a sub-record's tag")
    heap.sub_records[tag] = heap.sub_records.get(tag, 0) + 1
    roots = ROOTS if heap.version != "1.0.3" else ROOTS | ANDROID_ROOTS
    if tag in roots:
        name, form = roots[tag]
        id = body.id("a root")
        extra = tuple(body.number(heap.id_size if size == "i" else int(size), "a root") for size in form)
        heap.roots.append((name, id, extra))
    elif tag == 0x20:
        read_class(heap, body)
    elif tag == 0x21:
        id = body.id("an instance")
        body.number(4, "its trace")
        class_id = body.id("its class")
        raw = body.take(body.number(4, "its size"), "its fields")
        heap.instances[id] = (class_id, raw)
    elif tag == 0x22:
        id = body.id("an array")
        body.number(4, "its trace")
        count = body.number(4, "its length")
        class_id = body.id("its class")
        raw = body.take(count * heap.id_size, "its elements")
        heap.object_arrays[id] = (class_id, struct.unpack(f">{count}{'I' if heap.id_size == 4 else 'Q'}", raw))
    elif tag == 0x23 or (tag == 0xC3 and heap.version == "1.0.3"):
        id = body.id("an array")
        body.number(4, "its trace")
        count = body.number(4, "its length")
        kind = body.number(1, "its type")
        if kind not in PRIMITIVES:
            raise Broken(at, f"an array of primitive type {kind}")
        raw = body.take(count * TYPES[kind][0], "its elements") if tag == 0x23 else b""
        heap.primitive_arrays[id] = (kind, raw, count)
    elif tag == 0xFE and heap.version == "1.0.3":
        body.number(4, "a heap's number")
        body.id("a heap's name")
    else:
        raise Broken(at, f"sub-record 0x{tag:02x} is unknown")


def read_class(heap: Heap, body: Cursor) -> None:
    id = body.id("a class")
    body.number(4, "its trace")
    above, loader, *_ = (body.id("a class's references") for _ in range(6))
    size = body.number(4, "the size of instances")

    def value(what: str) -> tuple[int, object]:
        at = body.at
        kind = body.number(1, what)
        if kind not in TYPES:
            raise Broken(at, f"{what} has type {kind}")
        return kind, number(body.take(TYPES[kind][0] or heap.id_size, what), 0, kind, heap.id_size)

    for _ in range(body.number(2, "the number of constants")):
        body.number(2, "a constant's index")
        value("a constant")
    statics = []
    for _ in range(body.number(2, "the number of statics")):
        name = body.id("a static's name")
        statics.append((heap.strings.get(name, "?"), *value("a static")))
    fields = []
    for _ in range(body.number(2, "the number of fields")):
        name, at = body.id("a field's name"), body.at
        kind = body.number(1, "a field's type")
        if kind not in TYPES:
            raise Broken(at, f"a field of type {kind}")
        fields.append((heap.strings.get(name, "?"), kind))
    heap.classes[id] = Class(id, above, loader, size, statics, fields)


def check(heap: Heap, end: int) -> None:
    """Checks what only the whole file tells."""
    for described in heap.classes.values():
        seen, at = set(), described.id
        while at:
            if at in seen:
                raise Broken(end, f"class {described.id} is above itself")
            seen.add(at)
            if at not in heap.classes:
                raise Broken(end, f"class {described.id} has a superclass {at} that is not in the dump")
            at = heap.classes[at].super
        described.name = heap.name_of(described.id)
    for id, (class_id, raw) in heap.instances.items():
        if class_id not in heap.classes:
            raise Broken(end, f"object {id} is of class {class_id}, which is not in the dump")
        fields = heap.layout(class_id)
        size = sum(TYPES[kind][0] or heap.id_size for _, kind, _ in fields)
        if size != len(raw):
            raise Broken(end, f"object {id} has {len(raw)} bytes, and its class {size}")
