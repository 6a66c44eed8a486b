"""Makes a zip file of a folder, whose bytes depend on its content alone: make_zip.py ROOT NAME FOLDER.

Everything in it is below a folder of that name.
"""

import os
import sys
import time
import zipfile
from pathlib import Path


def main() -> None:
    root, name, folder = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    written = time.gmtime(int(os.environ["SOURCE_DATE_EPOCH"]))[:6]
    with zipfile.ZipFile(folder / f"{name}.zip", "w") as archive:
        for path in sorted(path for path in root.rglob("*") if path.is_file()):
            entry = zipfile.ZipInfo(f"{name}/{path.relative_to(root).as_posix()}", written)
            entry.external_attr = 0o100644 << 16
            archive.writestr(entry, path.read_bytes(), zipfile.ZIP_DEFLATED, 9)


if __name__ == "__main__":
    main()
