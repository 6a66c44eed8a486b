"""Makes the Python wheel of hprof-fleet from fleet/: make_fleet_wheel.py FOLDER.

What pip needs to know is taken from fleet/pyproject.toml. The same sources make the same bytes.
"""

import sys
import tomllib
from pathlib import Path

from make_wheel import Wheel

SOURCES = Path("fleet/src")


def main() -> None:
    project = tomllib.loads(Path("fleet/pyproject.toml").read_text())["project"]
    name = f"{project['name'].replace('-', '_')}-{project['version']}"
    info = f"{name}.dist-info"
    wheel = Wheel(Path(sys.argv[1]) / f"{name}-py3-none-any.whl")
    for path in sorted(SOURCES.rglob("*.py")):
        wheel.add(path.relative_to(SOURCES).as_posix(), path.read_bytes())
    for notice in ["LICENSE-MIT", "LICENSE-APACHE"]:
        wheel.add(f"{info}/licenses/{notice}", Path(notice).read_bytes())
    wheel.add(f"{info}/METADATA", metadata(project).encode())
    scripts = [f"{command} = {function}" for command, function in project["scripts"].items()]
    wheel.add(f"{info}/entry_points.txt", "\n".join(["[console_scripts]", *scripts, ""]).encode())
    lines = ["Wheel-Version: 1.0", "Generator: hprof", "Root-Is-Purelib: true", "Tag: py3-none-any", ""]
    wheel.add(f"{info}/WHEEL", "\n".join(lines).encode())
    wheel.close(f"{info}/RECORD")


def metadata(project: dict) -> str:
    """Formats what pip reads about a project."""
    extras = project["optional-dependencies"].items()
    lines = [
        "Metadata-Version: 2.4",
        f"Name: {project['name']}",
        f"Version: {project['version']}",
        f"Summary: {project['description']}",
        f"License-Expression: {project['license']['text']}",
        "License-File: LICENSE-MIT",
        "License-File: LICENSE-APACHE",
        f"Requires-Python: {project['requires-python']}",
        *[f"Requires-Dist: {needed}" for needed in project["dependencies"]],
    ]
    for extra, wanted in extras:
        lines.append(f"Provides-Extra: {extra}")
        lines += [f'Requires-Dist: {needed}; extra == "{extra}"' for needed in wanted]
    lines += ["Description-Content-Type: text/markdown", "", Path("fleet", project["readme"]).read_text()]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
