"""Compares a heap dump with what its program says of its own objects."""

from __future__ import annotations

import json
import re

from . import dump
from .truths import Finding

FACT = re.compile(r"^fact (\S+) (.+)$", re.M)
STEP = re.compile(r"\[(\d+)\]|\.((?:[\w$.]+:)?[\w$]+)")
# Classes whose field `referent` keeps nothing alive.
WEAK = ("java.lang.ref.WeakReference", "java.lang.ref.PhantomReference", "java.lang.ref.FinalReference")


class Absent(Exception):
    """The end of a path that leads to nothing in the dump."""


def facts(output: str) -> list[tuple[str, str]]:
    return FACT.findall(output)


def compare(found: list[tuple[str, str]], heap: dump.Heap) -> list[Finding]:
    """Returns a finding for each fact; those about nodes are one for all of a class."""
    view = View(heap)
    findings = []
    nodes: dict[str, dict[int, list[int]]] = {}
    for kind, rest in found:
        if kind == "node":
            name, *numbers = rest.split()
            nodes.setdefault(name, {})[int(numbers[0])] = [int(number) for number in numbers[1:]]
        elif kind != "retained":
            findings.append(check(view, kind, rest))
    for name, edges in nodes.items():
        findings.append(check_nodes(view, name, edges))
    return findings


def check(view: View, kind: str, rest: str) -> Finding:
    subject, _, expected = rest.partition(" ")
    if kind == "frame":
        subject, expected = rest, "a root"
    elif kind == "statics":
        name, field, *values = rest.split()
        subject, expected = f"{name} {field}", " ".join(sorted(values))
    try:
        said = getattr(view, kind)(*subject.split(), *([expected] if kind in ("same", "loader") else []))
        if kind in ("same", "loader"):
            expected = "yes"
    except (Absent, KeyError, IndexError, StopIteration) as error:
        said = f"absent ({error})"
    right = said.startswith(expected[:-1]) if expected.endswith("*") else said == expected
    return Finding(f"{kind} {subject}", expected, said, None, right)


def check_nodes(view: View, name: str, edges: dict[int, list[int]]) -> Finding:
    """Compares a graph of nodes, edge by edge."""
    heap = view.heap
    numbers: dict[int, int] = {0: -1}
    for id, (class_id, _) in heap.instances.items():
        if heap.name_of(class_id) == name:
            numbers[id] = int(heap.field(id, "number")[1])
    said = {}
    for id, number in numbers.items():
        if id:
            targets = [int(heap.field(id, "next")[1]), *heap.object_arrays[int(heap.field(id, "others")[1])][1]]
            said[number] = [numbers.get(target, -2) for target in targets]
    total = sum(len(targets) for targets in edges.values())
    wrong = sum(
        sum(a != b for a, b in zip(targets, said.get(number, []), strict=False)) + abs(len(targets) - len(said.get(number, [])))
        for number, targets in edges.items()
    )
    wrong += sum(len(targets) for number, targets in said.items() if number not in edges)
    finding = Finding(f"edges of {len(edges)} {name}", f"{total}", f"{total - wrong}", wrong / total, wrong == 0)
    finding.note = f"{wrong} wrong" if wrong else ""
    return finding


class View:
    """Answers questions about a dump."""

    def __init__(self, heap: dump.Heap):
        self.heap = heap

    def follow(self, path: str) -> tuple[int, object]:
        """Returns type and value of what a path leads to: a class, a static field of it, then fields and elements."""
        name, field, rest = re.match(r"([\w$]+)\.(\w+)(.*)$", path).groups()
        for described in self.heap.classes.values():
            found = [static for static in described.statics if static[0] == field]
            if described.name == name and found:
                kind, value = found[0][1:]
                break
        else:
            raise Absent(f"{name}.{field}")
        for index, step in STEP.findall(rest):
            if not value:
                raise Absent(f"null before {index or step}")
            kind, value = self.element(int(value), int(index)) if index else self.field(int(value), step)
        return kind, value

    def field(self, id: int, step: str) -> tuple[int, object]:
        owner, _, name = step.rpartition(":")
        if not owner:
            return self.heap.field(id, name)
        class_id, raw = self.heap.instances[id]
        while self.heap.name_of(class_id) != owner:
            above = self.heap.classes[class_id].super
            raw = raw[sum(dump.TYPES[kind][0] or self.heap.id_size for _, kind in self.heap.classes[class_id].fields) :]
            class_id = above
        for field, kind, offset in self.heap.layout(class_id):
            if field == name:
                return kind, dump.number(raw, offset, kind, self.heap.id_size)
        raise Absent(step)

    def element(self, id: int, index: int) -> tuple[int, object]:
        if id in self.heap.object_arrays:
            return 2, self.heap.object_arrays[id][1][index]
        kind, raw, _ = self.heap.primitive_arrays[id]
        return kind, dump.number(raw, index * dump.TYPES[kind][0], kind, self.heap.id_size)

    def shown(self, kind: int, value: object) -> str:
        if kind != 2:
            return str(value).lower() if kind == 4 else f"{value:g}" if kind in (6, 7) else str(value)
        if not value:
            return "null"
        name = self.heap.class_of(int(value))
        return json.dumps(self.heap.text(int(value))) if name == "java.lang.String" else name

    def value(self, path: str) -> str:
        return self.shown(*self.follow(path))

    def object(self, path: str) -> int:
        kind, value = self.follow(path)
        if kind != 2 or not value:
            raise Absent(path)
        return int(value)

    # The names of the kinds of facts, by `getattr`.

    def same(self, path: str, other: str) -> str:
        return "yes" if self.object(path) == self.object(other) else "no"

    def length(self, path: str) -> str:
        id = self.object(path)
        if id in self.heap.object_arrays:
            return str(len(self.heap.object_arrays[id][1]))
        return str(self.heap.primitive_arrays[id][2])

    def elements(self, path: str) -> str:
        id = self.object(path)
        return " ".join(self.shown(*self.element(id, index)) for index in range(int(self.length(path))))

    def loader(self, path: str, other: str) -> str:
        class_id, _ = self.heap.instances[self.object(path)]
        return "yes" if self.heap.classes[class_id].loader == self.object(other) else "no"

    def statics(self, name: str, field: str) -> str:
        """Returns the values of a static in all classes of the name, in order."""
        of_name = (described for described in self.heap.classes.values() if described.name == name)
        return " ".join(sorted(self.shown(kind, value) for of in of_name for static, kind, value in of.statics if static == field))

    def frame(self, thread: str, method: str, kind: str) -> str:
        """Looks for an object of the class among the roots of that frame of that thread."""
        heap = self.heap
        threads = {}
        for root, id, extra in heap.roots:
            if root == "thread" and id in heap.instances:
                try:
                    name = heap.text(int(heap.field(id, "name")[1]))
                except KeyError:
                    continue
                threads[extra[0]] = (name.replace(" ", "_"), heap.traces.get(extra[1], ()))
        for root, id, extra in heap.roots:
            if root not in ("java frame", "jni local") or heap.class_of(id) != kind:
                continue
            name, trace = threads.get(extra[0], ("?", ()))
            depth = extra[1]
            if name == thread and depth < len(trace) and heap.frames[trace[depth]] == method:
                return "a root"
        return "none"


# `class` is a word of Python.
setattr(View, "class", lambda view, path: view.heap.class_of(view.object(path)))


def wrong_edge(heap: dump.Heap) -> bool:
    """Changes one reference of one of the program's objects to refer to another object; returns False if there is none."""
    of_class: dict[int, list[int]] = {}
    for id, (class_id, _) in heap.instances.items():
        of_class.setdefault(class_id, []).append(id)
    for class_id, ids in of_class.items():
        fields = [field for field in heap.layout(class_id) if field[0] in ("next", "self") and field[1] == 2]
        if not fields or not heap.name_of(class_id).startswith(("Web$", "Fields$")):
            continue
        _, _, offset = fields[0]
        for id in ids:
            raw = heap.instances[id][1]
            old = int.from_bytes(raw[offset : offset + heap.id_size], "big")
            other = next((each for each in ids if each != old), 0)
            if old:
                new = raw[:offset] + other.to_bytes(heap.id_size, "big") + raw[offset + heap.id_size :]
                heap.instances[id] = (class_id, new)
                return True
    return False


class Retained:
    """Retained sizes by their definition: what is no longer reachable without an object."""

    def __init__(self, heap: dump.Heap, layout: tuple[int, int, int]):
        self.heap = heap
        self.layout = layout
        self.edges: dict[int, list[int]] = {}
        names: dict[int, bool] = {}
        for id, (class_id, _) in heap.instances.items():
            if class_id not in names:
                names[class_id] = self.is_weak(class_id)
            targets = heap.references(id)
            if names[class_id]:
                referent = int(heap.field(id, "referent")[1])
                targets = [target for target in targets if target != referent]
            self.edges[id] = [class_id, *targets]
        for id, (class_id, targets) in heap.object_arrays.items():
            self.edges[id] = [class_id, *targets]
        for id in heap.classes:
            self.edges[id] = [*self.edges.get(id, []), *heap.references(id)]

    def is_weak(self, class_id: int) -> bool:
        while class_id:
            if self.heap.name_of(class_id) in WEAK:
                return True
            class_id = self.heap.classes[class_id].super
        return False

    def reachable(self, without: int = 0) -> set[int]:
        seen = {0, without}
        stack = [id for _, id, _ in self.heap.roots if id not in seen]
        while stack:
            id = stack.pop()
            if id in seen:
                continue
            seen.add(id)
            stack.extend(target for target in self.edges.get(id, ()) if target not in seen)
        return seen

    def size(self, id: int) -> int:
        header, array_header, reference = self.layout
        if id in self.heap.object_arrays:
            bytes = array_header + reference * len(self.heap.object_arrays[id][1])
        elif id in self.heap.primitive_arrays:
            kind, _, count = self.heap.primitive_arrays[id]
            bytes = array_header + count * dump.TYPES[kind][0]
        elif id in self.heap.instances:
            fields = self.heap.layout(self.heap.instances[id][0])
            bytes = header + sum(dump.TYPES[kind][0] or reference for _, kind, _ in fields)
        else:
            bytes = 0
        return (bytes + 7) // 8 * 8

    def of(self, id: int) -> int | None:
        """None if a class is among what is lost: how large one is, no dump tells."""
        lost = (self.all - self.reachable(without=id)) | {id}
        return None if lost & self.heap.classes.keys() else sum(map(self.size, lost))

    @property
    def all(self) -> set[int]:
        if not hasattr(self, "known"):
            self.known = self.reachable()
        return self.known


def check_retained(heap: dump.Heap, layout: tuple[int, int, int], name: str, said: dict[int, int] | None, most: int) -> list[Finding]:
    """Compares the retained sizes of some objects of a class, those that a tool says to retain most among them."""
    ids = sorted(id for id, (class_id, _) in heap.instances.items() if heap.name_of(class_id) == name)
    step = max(len(ids) // most, 1)
    chosen = ids[::step][:most]
    what = f"retained sizes of {name}"
    if said is None:
        return [Finding(what, str(len(chosen)), None, None, None)]
    ranked = sorted(ids, key=lambda id: said.get(id, 0), reverse=True)[: most // 4]
    chosen = list(dict.fromkeys(ranked + chosen))[:most]
    oracle = Retained(heap, layout)
    sizes = {id: size for id in chosen if (size := oracle.of(id)) is not None}
    chosen = list(sizes)
    wrong = [(id, size) for id, size in sizes.items() if said.get(id) != size]
    finding = Finding(what, str(len(chosen)), str(len(chosen) - len(wrong)), len(wrong) / len(chosen), not wrong)
    if wrong:
        id, size = wrong[0]
        finding.note = f"0x{id:x}: {said.get(id)} instead of {size}"
    return [finding]
