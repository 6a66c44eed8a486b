"""Files of one package that use each other in a circle, in Rust, Python and Java. For scripts/check-layers."""

import ast
import functools
import pathlib
import re

# Unit tests may use what the code itself may not.
TESTS = re.compile(r"#\[\s*cfg\s*\(\s*test\s*\)\s*\]\s*(?:pub(?:\([a-z]+\))?\s+)?mod\s+\w+\s*\{")
# Comments, strings and characters; lifetimes ('a) are left alone.
IGNORED = re.compile(
    r"//[^\n]*"
    r"|/\*(?:[^*]|\*(?!/))*\*/"
    r'|\bb?r(#*)".*?"\1'
    r'|(?:\bb)?"(?:[^"\\]|\\.)*"'
    r"|(?:\bb)?'(?:[^'\\\n]|\\[^\n]{1,10}?)'",
    re.DOTALL,
)


@functools.cache
def blank(text: str) -> str:
    """The same text with comments and strings blanked out; no line moves."""
    return IGNORED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]), text)


@functools.cache
def without_tests(code: str) -> str:
    """The code without the modules of unit tests; no line moves."""
    for found in list(TESTS.finditer(code)):
        depth = 0
        for brace in re.finditer(r"[{}]", code[found.start() :]):
            depth += 1 if brace[0] == "{" else -1
            if depth == 0:
                end = found.start() + brace.end()
                code = code[: found.start()] + re.sub(r"[^\n]", " ", code[found.start() : end]) + code[end:]
                break
    return code


def group_heads(code: str, start: int):
    """The first names of each path in the group that opens at `start`: {a::b, c::{d}} gives a and c."""
    depth = 0
    expect = False
    for match in re.compile(r"[{},]|\w+|::|\S").finditer(code, start):
        token = match[0]
        if token == "{":
            depth += 1
            expect = depth == 1
        elif token == "}":
            depth -= 1
            if depth == 0:
                return
        elif token == ",":
            expect = depth == 1
        elif expect:
            expect = False
            yield token, match.start()


def module_parts(name: str, source: str) -> tuple[str, ...]:
    """src/engines/worker.rs in src: ("engines", "worker")."""
    return pathlib.PurePosixPath(name).relative_to(source).with_suffix("").parts


def files_in(files: dict[str, str], source: str, suffix: str) -> list[str]:
    return [name for name in files if name.startswith(f"{source}/") and name.endswith(suffix)]


def module_files(files: dict[str, str], source: str) -> dict[tuple[str, ...], str]:
    """The file of each module: ("engines", "worker") -> src/engines/worker.rs."""
    modules = {}
    for name in files_in(files, source, ".rs"):
        parts = module_parts(name, source)
        modules[parts[:-1] if parts[-1] == "mod" else () if parts in (("lib",), ("main",)) else parts] = name
    return modules


@functools.cache
def use_paths(code: str, module: tuple[str, ...]) -> list[tuple[tuple[str, ...], int]]:
    """Each path that a file names from the crate's root or from `super`, as (absolute parts, line)."""
    found = []
    for match in re.finditer(r"(?<![\w:])((?:crate|super)(?:\s*::\s*\w+)*)(\s*::\s*\{)?", code):
        head = re.split(r"\s*::\s*", match[1])
        ups = next((i for i, part in enumerate(head) if part != "super"), len(head))
        base = () if head[0] == "crate" else module[: len(module) - ups] if ups <= len(module) else None
        if base is None:
            continue
        names = base + tuple(head[1 if head[0] == "crate" else ups :])
        if not match[2]:
            found.append((names, match.start()))
            continue
        for name, offset in group_heads(code, match.end() - 1):
            found.append((names if name == "self" else names + (name,), offset))
    return [(names, code.count("\n", 0, offset) + 1) for names, offset in found]


# For each module the modules whose names it uses, and the line.
Imports = dict[tuple[str, ...], dict[tuple[str, ...], int]]


def rust_imports(files: dict[str, str], source: str) -> Imports:
    """A name that a module hands on counts for the one that defines it. A module may use what its own folder's mod.rs
    defines: a folder's face and its parts are one."""
    modules = module_files(files, source)
    codes = {module: without_tests(blank(files[name])) for module, name in modules.items()}

    def owner(names: tuple[str, ...], seen=()) -> tuple[str, ...] | None:
        for length in range(len(names), -1, -1):
            if names[:length] in modules:
                break
        else:
            return None
        module, rest = names[:length], names[length:]
        if rest and module not in seen:
            for child, handed_on in handed_on_names(codes[module]):
                if child != "crate" and rest[0] in handed_on:
                    return owner(module + (child,) + rest, seen + (module,)) or module
        return module

    graph: Imports = {}
    for module, code in codes.items():
        for names, line in use_paths(code, module):
            target = owner(names)
            if target is None or target == module or target == module[: len(target)]:
                continue
            graph.setdefault(module, {}).setdefault(target, line)
    return graph


@functools.cache
def handed_on_names(code: str) -> list[tuple[str, set[str]]]:
    """The names that a module makes public of another: `pub use child::{A, B}` gives child, A and B."""
    uses = re.finditer(r"\bpub(?:\([a-z]+\))?\s+use\s+(\w+)\s*::\s*(\{[^}]*\}|\w+)", code)
    return [(match[1], set(re.findall(r"\w+", match[2]))) for match in uses]


@functools.cache
def python_uses(text: str, package: tuple[str, ...]) -> list[tuple[tuple[str, ...], int]]:
    """The modules that a file imports, wherever in it that stands; `package` is the folder that the file is in."""
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = (*base, *(node.module.split(".") if node.module else ()))
            found += [((*module, alias.name), node.lineno) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(tuple(alias.name.split(".")), node.lineno) for alias in node.names]
    return found


def python_imports(files: dict[str, str], source: str) -> Imports:
    modules = {module_parts(name, source): name for name in files_in(files, source, ".py")}
    graph: Imports = {}
    for module, name in modules.items():
        for parts, line in python_uses(files[name], module[:-1]):
            target = next((t for t in (parts, parts[:-1]) if t in modules), None)
            if target is not None and target != module:
                graph.setdefault(module, {}).setdefault(target, line)
    return graph


def java_imports(files: dict[str, str], source: str) -> Imports:
    """A class counts as used where its name stands and it is imported or of the same package."""
    modules = {module_parts(name, source): name for name in files_in(files, source, ".java")}
    graph: Imports = {}
    for module, name in modules.items():
        code = blank(files[name])
        for target in modules:
            is_imported = re.search(rf"\bimport\s+(?:static\s+)?{re.escape('.'.join(target))}\b", code)
            found = re.search(rf"\b{target[-1]}\b", code)
            if found and target != module and (is_imported or target[:-1] == module[:-1]):
                graph.setdefault(module, {})[target] = code.count("\n", 0, found.start()) + 1
    return graph


def circles(graph: Imports) -> list[list[tuple[str, ...]]]:
    """Modules that use each other in a circle, directly or through others."""

    def reachable(start):
        found, todo = set(), [start]
        while todo:
            for target in graph.get(todo.pop(), {}):
                if target not in found:
                    found.add(target)
                    todo.append(target)
        return found

    reach = {module: reachable(module) for module in graph}
    rings, done = [], set()
    for module in sorted(graph):
        ring = [module] + [other for other in sorted(reach[module]) if other != module and module in reach.get(other, ())]
        if len(ring) > 1 and module not in done:
            rings.append(ring)
        done.update(ring)
    return rings


def faults(files: dict[str, str], source: str) -> list[str]:
    """One line for each use that is part of a circle."""
    for suffix, imports in ((".rs", rust_imports), (".py", python_imports), (".java", java_imports)):
        if files_in(files, source, suffix):
            break
    else:
        return [f"{source}:1: there is no code"]
    graph = imports(files, source)
    modules = module_files(files, source) if suffix == ".rs" else {}
    found = []
    for ring in circles(graph):
        for module in ring:
            for target, line in sorted(graph.get(module, {}).items()):
                if target in ring:
                    name = modules.get(module) or f"{source}/{'/'.join(module)}{suffix}"
                    found.append(f"{name}:{line}: `{'::'.join(target)}` uses this file too, in a circle")
    return found
