"""Prints the licence notes of every crate that is linked into the library or the command: third_party.py RUST_TARGET...

A crate's notes are the files that it comes with, LICENSE and its kin.
"""

import json
import subprocess
import sys
from pathlib import Path

ROOTS = ["hprof-agent", "hprof-cli"]
# There is no agent for macOS.
ROOTS_OF_MACOS = ["hprof-cli"]
NOTICES = ("licen", "copying", "notice", "copyright", "unlicense")

HEAD = """\
hprof itself is licensed under MIT or Apache 2.0, as you like. {files} the crates below.
They also contain Rust's standard library (MIT or Apache 2.0, by the Rust Project's contributors) and {runtime}, which the compilers bring.
"""
LLVM = """LLVM's
libunwind and compiler-rt (Apache 2.0 with LLVM exceptions, by the LLVM Project's contributors)"""
GCC = """GCC's
libgcc (GPL 3 with the GCC Runtime Library Exception, by the Free Software Foundation) and the start-up code of mingw-w64 (public domain and
ZPL 2.1, by the mingw-w64 project's contributors)"""


def main() -> None:
    linked: dict[str, dict] = {}
    for target in sys.argv[1:]:
        linked |= linked_into(target)
    crates = sorted(linked.values(), key=lambda crate: (crate["name"], crate["version"]))
    library = "hprof.dll" if "windows" in sys.argv[1] else "libhprof.so"
    files = "The command hprof contains" if "apple" in sys.argv[1] else f"{library} and the command hprof contain"
    print(HEAD.format(files=files, runtime=GCC if sys.argv[1].endswith("windows-gnu") else LLVM))
    for crate in crates:
        print(f"{crate['name']} {crate['version']}: {crate['license'] or crate['license_file']}  {crate['repository'] or ''}")
    # One text stands once, however many crates have it.
    users: dict[str, list[str]] = {}
    for crate in crates:
        for text in notices(Path(crate["manifest_path"]).parent):
            users.setdefault(text, []).append(f"{crate['name']} {crate['version']}")
    for text, names in users.items():
        print(f"\n{'-' * 100}\n{', '.join(names)}\n\n{text}")


def linked_into(target: str) -> dict[str, dict]:
    """The crates of the registry that the roots reach through normal dependencies, without macros that run in the compiler."""
    command = ["cargo", "metadata", "--locked", "--format-version", "1", "--filter-platform", target]
    metadata = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    roots = ROOTS_OF_MACOS if "apple" in target else ROOTS
    waiting = [id for id, package in packages.items() if package["name"] in roots]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            is_normal = any(kind["kind"] is None for kind in dependency["dep_kinds"])
            if is_normal and dependency["pkg"] not in seen and not is_macro(packages[dependency["pkg"]]):
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return {id: packages[id] for id in seen if packages[id]["source"]}


def is_macro(package: dict) -> bool:
    return any("proc-macro" in target["kind"] for target in package["targets"])


def notices(folder: Path) -> list[str]:
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.lower().startswith(NOTICES))
    return [path.read_text(errors="replace").strip() for path in files]


if __name__ == "__main__":
    main()
