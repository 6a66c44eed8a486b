#!/usr/bin/env python3
"""Reads the heap dumps of java-tests/dump/Invariants.java, and looks for what holds in that program at any moment.

    dump_invariants.py FILE...    exits 1 if it does not hold, or if a file is cut
"""

import pathlib
import struct
import sys

CLASSES = ["Counter", "Version", "Link", "Slot"]
SIZES = {2: 8, 4: 1, 5: 2, 6: 4, 7: 8, 8: 1, 9: 2, 10: 4, 11: 8}
ROOTS = {0xFF: 8, 0x01: 16, 0x02: 16, 0x03: 16, 0x04: 12, 0x05: 8, 0x06: 12, 0x07: 8, 0x08: 16}
LONG = 11
SLOTS, COPIES = 32, 5
LEAST_LINKS, MOST_LINKS = 500, 1501


class Found:
    """The dumps of a file."""

    def __init__(self):
        self.whole = 0
        self.is_cut = False
        self.faults = []


class Objects:
    """What a dump has of the program's objects, by id."""

    def __init__(self):
        self.fields = {}
        self.instances = {}
        self.arrays = {}
        self.longs = {}

    def values(self, kind, id):
        """The values of the fields that the object's own class declares, by name; references are ids."""
        name, own_class, content = self.instances[id]
        if name != kind:
            raise ValueError(f"a {name} in place of a {kind}")
        values, at = {}, 0
        for field, basic in self.fields[own_class]:
            size = SIZES[basic]
            values[field] = int.from_bytes(content[at : at + size], "big", signed=basic == LONG)
            at += size
        return values


def read(path):
    """All whole dumps of a file."""
    found, data = Found(), path.read_bytes()
    if not data:
        return found
    at = data.index(b"\0") + 1 + 12
    strings, names, objects = {}, {}, None
    while at < len(data):
        if at + 9 > len(data):
            found.is_cut = True
            return found
        tag, _, length = struct.unpack_from(">BII", data, at)
        at += 9
        if at + length > len(data):
            found.is_cut = found.is_cut or tag in (0x0C, 0x1C)
            break
        if tag == 0x01:
            strings[data[at : at + 8]] = data[at + 8 : at + length]
        elif tag == 0x02:
            names[data[at + 4 : at + 12]] = strings[data[at + 16 : at + 24]].decode(errors="replace")
        elif tag in (0x0C, 0x1C):
            objects = objects or Objects()
            segment(data, at, at + length, names, strings, objects)
        elif tag == 0x2C and objects is not None:
            found.whole += 1
            found.faults += [f"dump {found.whole}: {fault}" for fault in faults(objects)]
            objects = None
        at += length
    found.is_cut = found.is_cut or objects is not None
    return found


def segment(data, at, end, names, strings, objects):
    while at < end:
        tag = data[at]
        at += 1
        if tag == 0x21:
            length = int.from_bytes(data[at + 20 : at + 24], "big")
            name = names.get(data[at + 12 : at + 20], "")
            if name.startswith("Invariants$") and name[11:] in CLASSES:
                content = data[at + 24 : at + 24 + length]
                objects.instances[int.from_bytes(data[at : at + 8], "big")] = (name[11:], data[at + 12 : at + 20], content)
            at += 24 + length
        elif tag == 0x22:
            length = int.from_bytes(data[at + 12 : at + 16], "big")
            if length == SLOTS:
                ids = struct.unpack_from(f">{length}Q", data, at + 24)
                objects.arrays[int.from_bytes(data[at : at + 8], "big")] = ids
            at += 24 + 8 * length
        elif tag == 0x23:
            length, basic = int.from_bytes(data[at + 12 : at + 16], "big"), data[at + 16]
            if basic == LONG and length == COPIES:
                objects.longs[int.from_bytes(data[at : at + 8], "big")] = struct.unpack_from(f">{length}q", data, at + 17)
            at += 17 + SIZES[basic] * length
        elif tag == 0x20:
            at = class_record(data, at, names, strings, objects)
        else:
            at += ROOTS[tag]
    if at != end:
        raise ValueError(f"a segment ends at {at}, not at {end}")


def class_record(data, at, names, strings, objects):
    own_class, name = data[at : at + 8], names.get(data[at : at + 8], "")
    at += 8 + 4 + 6 * 8 + 4
    for head in (2, 8):
        count = int.from_bytes(data[at : at + 2], "big")
        at += 2
        for _ in range(count):
            at += head + 1 + SIZES[data[at + head]]
    count = int.from_bytes(data[at : at + 2], "big")
    at += 2
    fields = []
    for _ in range(count):
        fields.append((strings[data[at : at + 8]].decode(errors="replace"), data[at + 8]))
        at += 9
    if name.startswith("Invariants$"):
        # By its id: the VM's dumper also writes the versions of a class that were replaced.
        objects.fields[own_class] = fields
    return at


def faults(objects):
    """What does not hold."""
    counters = [id for id, (name, _, _) in objects.instances.items() if name == "Counter"]
    if len(counters) != 2:
        return [f"{len(counters)} counters"]
    found = []
    for id in counters:
        try:
            found += faults_of(objects, id)
        except (KeyError, ValueError) as error:
            found.append(f"an object that is not there, or not what it was: {error!r}")
    return found


def faults_of(objects, id):
    counter = objects.values("Counter", id)
    version = objects.values("Version", counter["version"])
    twice = 2 * version["number"]
    if version["twice"] != twice or set(objects.longs[version["copies"]]) != {twice}:
        yield f"a version that nobody made: {version} {objects.longs[version['copies']]}"
    link = objects.values("Link", counter["head"])
    slots = [objects.values("Slot", slot)["number"] for slot in objects.arrays[counter["slots"]]]
    numbers = [version["number"], link["number"], *slots]
    if numbers != sorted(numbers, reverse=True) or numbers[0] > numbers[-1] + 1:
        yield f"numbers of no one moment: {numbers}"
    links = 1
    while link["next"] != 0:
        after = objects.values("Link", link["next"])
        if after["number"] != link["number"] - 1:
            yield f"a link of {link['number']} to {after['number']}"
            return
        link, links = after, links + 1
    if not LEAST_LINKS <= links <= MOST_LINKS:
        yield f"{links} links"


def main():
    status = 0
    for name in sys.argv[1:]:
        found = read(pathlib.Path(name))
        print(f"{name}: {found.whole} dumps{', cut' if found.is_cut else ''}")
        print(*found.faults, sep="\n", end="\n" if found.faults else "")
        status = 1 if found.faults or found.is_cut else status
    sys.exit(status)


if __name__ == "__main__":
    main()
