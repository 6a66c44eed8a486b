"""Makes a Python wheel of the command and the library: make_wheel.py ROOT PLATFORM VERSION FOLDER.

A wheel is a zip file; this one has no Python in it. pip puts `hprof` with the commands of its environment, and
`libhprof.so` into `lib` beside them, where the command looks for it; on Windows `hprof.dll` goes into the folder of the command. macOS has
the command alone.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

# The requirements on the system, in the form that pip uses.
TAGS = {
    "x86_64-gnu": "manylinux_2_17_x86_64.manylinux2014_x86_64",
    "aarch64-gnu": "manylinux_2_17_aarch64.manylinux2014_aarch64",
    "x86_64-musl": "musllinux_1_2_x86_64",
    "aarch64-musl": "musllinux_1_2_aarch64",
    "x86_64-windows": "win_amd64",
    # The oldest macOS that Rust's programs run on.
    "x86_64-macos": "macosx_10_12_x86_64",
    "aarch64-macos": "macosx_11_0_arm64",
}
SYSTEMS = {"windows": "Microsoft :: Windows", "macos": "MacOS :: MacOS X"}

DESCRIPTION = """\
# hprof

HPROF, the heap and CPU profiling agent, for today's JVMs: the library and the command `hprof`.

    pip install hprof-agent
    java -agentpath:$(hprof agent-path)=heap=sites Main
    hprof attach <pid> cpu=samples
    hprof report java.hprof.txt -o java.html
"""

ON_WINDOWS = """\
# hprof

HPROF, the heap and CPU profiling agent, for today's JVMs: the library and the command `hprof`.

    pip install hprof-agent
    for /f "delims=" %a in ('hprof agent-path') do java "-agentpath:%a=heap=sites" Main
    hprof attach PID cpu=samples
    hprof report java.hprof.txt -o java.html
"""

READER = """\
# hprof

The command `hprof`, which reads heap dumps and profiles of JVMs. The agent that writes profiles runs on Linux and Windows.

    pip install hprof-agent
    hprof heap leaks java.hprof
    hprof report profile.hprof -o profile.html
"""


def main() -> None:
    root, platform, version, folder = Path(sys.argv[1]), *sys.argv[2:4], Path(sys.argv[4])
    system = platform.split("-")[1]
    tag = f"py3-none-{TAGS[platform]}"
    name = f"hprof_agent-{version}"
    info, data = f"{name}.dist-info", f"{name}.data"
    wheel = Wheel(folder / f"{name}-{tag}.whl")
    program = "hprof.exe" if system == "windows" else "bin/hprof"
    wheel.add(f"{data}/scripts/{Path(program).name}", (root / program).read_bytes(), executable=True)
    if system == "windows":
        wheel.add(f"{data}/scripts/hprof.dll", (root / "hprof.dll").read_bytes())
    elif system not in SYSTEMS:
        wheel.add(f"{data}/data/lib/libhprof.so", (root / "lib/libhprof.so").read_bytes())
    for page in sorted(root.glob("share/man/man1/*")):
        wheel.add(f"{data}/data/share/man/man1/{page.name}", page.read_bytes())
    notes = root if system == "windows" else root / "share/doc/hprof"
    book = notes / "book"
    for page in sorted(path for path in book.rglob("*") if path.is_file()):
        wheel.add(f"{data}/data/share/doc/hprof/book/{page.relative_to(book).as_posix()}", page.read_bytes())
    for notice in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"]:
        wheel.add(f"{info}/licenses/{notice}", (notes / notice).read_bytes())
    metadata = [
        "Metadata-Version: 2.4",
        "Name: hprof-agent",
        f"Version: {version}",
        "Summary: HPROF, the heap and CPU profiling agent, for today's JVMs",
        "License-Expression: MIT OR Apache-2.0",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        "License-File: THIRD-PARTY.txt",
        f"Classifier: Operating System :: {SYSTEMS.get(system, 'POSIX :: Linux')}",
        "Classifier: Programming Language :: Rust",
        "Classifier: Programming Language :: Java",
        "Requires-Python: >=3.7",
        "Provides-Extra: fleet",
        'Requires-Dist: hprof-fleet; extra == "fleet"',
        "Description-Content-Type: text/markdown",
        "",
        {"windows": ON_WINDOWS, "macos": READER}.get(system, DESCRIPTION),
    ]
    wheel.add(f"{info}/METADATA", "\n".join(metadata).encode())
    tags = [f"Tag: py3-none-{one}" for one in tag.removeprefix("py3-none-").split(".")]
    lines = ["Wheel-Version: 1.0", "Generator: hprof", "Root-Is-Purelib: false", *tags, ""]
    wheel.add(f"{info}/WHEEL", "\n".join(lines).encode())
    wheel.close(f"{info}/RECORD")


class Wheel:
    """A zip file whose bytes depend on its content alone, and its record of them."""

    def __init__(self, path: Path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9)
        self.time = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
        self.record: list[str] = []

    def add(self, name: str, content: bytes, executable: bool = False) -> None:
        entry = zipfile.ZipInfo(name, self.time)
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100755 if executable else 0o100644) << 16
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record: str) -> None:
        self.add(record, "\n".join([*self.record, f"{record},,", ""]).encode())
        self.zip.close()


if __name__ == "__main__":
    main()
