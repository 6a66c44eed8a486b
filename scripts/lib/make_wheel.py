"""Makes a Python wheel of the command and the library: make_wheel.py ROOT PLATFORM VERSION FOLDER.

A wheel is a zip file; this one has no Python in it. pip puts `hprof` with the commands of its environment, and
`libhprof.so` into `lib` beside them, where the command looks for it.
"""

import base64
import hashlib
import os
import sys
import time
import zipfile
from pathlib import Path

# The requirements on the system, in the form that pip uses.
TAGS = {"gnu": "manylinux_2_17_{0}.manylinux2014_{0}", "musl": "musllinux_1_2_{0}"}

DESCRIPTION = """\
# hprof

HPROF, the heap and CPU profiling agent, for today's JVMs: the library and the command `hprof`.

    pip install hprof-agent
    java -agentpath:$(hprof agent-path)=heap=sites Main
    hprof attach <pid> cpu=samples
    hprof report java.hprof.txt -o java.html
"""


def main() -> None:
    root, platform, version, folder = Path(sys.argv[1]), *sys.argv[2:4], Path(sys.argv[4])
    architecture, libc = platform.split("-")
    tag = f"py3-none-{TAGS[libc].format(architecture)}"
    name = f"hprof_agent-{version}"
    info, data = f"{name}.dist-info", f"{name}.data"
    wheel = Wheel(folder / f"{name}-{tag}.whl")
    wheel.add(f"{data}/scripts/hprof", (root / "bin/hprof").read_bytes(), executable=True)
    wheel.add(f"{data}/data/lib/libhprof.so", (root / "lib/libhprof.so").read_bytes())
    for page in sorted((root / "share/man/man1").iterdir()):
        wheel.add(f"{data}/data/share/man/man1/{page.name}", page.read_bytes())
    book = root / "share/doc/hprof/book"
    for page in sorted(path for path in book.rglob("*") if path.is_file()):
        wheel.add(f"{data}/data/share/doc/hprof/book/{page.relative_to(book).as_posix()}", page.read_bytes())
    for notice in ["LICENSE-MIT", "LICENSE-APACHE", "THIRD-PARTY.txt"]:
        wheel.add(f"{info}/licenses/{notice}", (root / "share/doc/hprof" / notice).read_bytes())
    metadata = [
        "Metadata-Version: 2.4",
        "Name: hprof-agent",
        f"Version: {version}",
        "Summary: HPROF, the heap and CPU profiling agent, for today's JVMs",
        "License-Expression: MIT OR Apache-2.0",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        "License-File: THIRD-PARTY.txt",
        "Classifier: Operating System :: POSIX :: Linux",
        "Classifier: Programming Language :: Rust",
        "Classifier: Programming Language :: Java",
        "Requires-Python: >=3.7",
        "Provides-Extra: fleet",
        'Requires-Dist: hprof-fleet; extra == "fleet"',
        "Description-Content-Type: text/markdown",
        "",
        DESCRIPTION,
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
