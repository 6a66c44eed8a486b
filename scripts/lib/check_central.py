"""Checks what a Maven repository would be given against what Maven Central asks of it: check_central.py REPOSITORY.

That is, of each project: what its POM or the POM of its parent tells, jars of the classes, the sources and the documentation (none
for a parent), and checksums and a signature of every file. The signatures are made here, with a key that is thrown away: the publisher's own takes its place.
"""

import hashlib
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from xml.etree import ElementTree

NAMESPACE = {"": "http://maven.apache.org/POM/4.0.0"}
# The elements that a POM must have, none of them empty.
TOLD = [
    "groupId",
    "artifactId",
    "version",
    "name",
    "description",
    "url",
    "licenses/license/name",
    "licenses/license/url",
    "developers/developer/name",
    "scm/connection",
    "scm/url",
]
# The jars beside a POM, and what each must hold.
JARS = {".jar": ".class", "-sources.jar": ".java", "-javadoc.jar": ".html"}


def main() -> None:
    repository = Path(sys.argv[1])
    poms = {pom: ElementTree.parse(pom).getroot() for pom in sorted(repository.rglob("*.pom"))}
    projects = {project.findtext("artifactId", "", NAMESPACE): project for project in poms.values()}
    faults = [] if poms else [f"{repository}: no POM"]
    for pom, project in poms.items():
        parent = projects.get(project.findtext("parent/artifactId", "", NAMESPACE))
        faults += faults_of(pom, [project] if parent is None else [project, parent], repository)
    for fault in faults:
        print(f"Maven Central would refuse {fault}", file=sys.stderr)
    sys.exit(1 if faults else 0)


def faults_of(pom: Path, family: list[ElementTree.Element], repository: Path) -> list[str]:
    """Takes the project and, after it, its parent if it has one."""
    project = family[0]

    def text(path: str) -> str:
        told = ((one.findtext(path, "", NAMESPACE) or "").strip() for one in family)
        return next(filter(None, told), "")

    faults = [f"{pom.name}: no {path}" for path in TOLD if not text(path)]
    if text("version").endswith("-SNAPSHOT"):
        faults.append(f"{pom.name}: the version is a snapshot")
    for dependency in project.iterfind("dependencies/dependency", NAMESPACE):
        if not dependency.findtext("version", "", NAMESPACE):
            faults.append(f"{pom.name}: a dependency without a version")
    folder = repository.joinpath(*text("groupId").split("."), text("artifactId"), text("version"))
    if folder != pom.parent:
        faults.append(f"{pom.name}: it is not in {folder}")
    files = [pom]
    jars = {} if project.findtext("packaging", "", NAMESPACE) == "pom" else JARS
    for ending, content in jars.items():
        jar = pom.with_name(pom.stem + ending)
        if not jar.is_file():
            faults.append(f"{jar.name}: it is missing")
            continue
        files.append(jar)
        if not any(name.endswith(content) for name in zipfile.ZipFile(jar).namelist()):
            faults.append(f"{jar.name}: no {content} in it")
    faults += [fault for file in files for fault in checksum_faults(file)]
    sign(files)
    if not faults:
        print(f"{text('groupId')}:{text('artifactId')}:{text('version')} has what Maven Central asks for:")
        print("".join(f"  {file.name} with .asc, .md5, .sha1\n" for file in files), end="")
    if ".invalid" in text("url"):
        print("not decided yet: the address of the project, which stands in java/pom.xml")
    return faults


def checksum_faults(file: Path) -> list[str]:
    def is_right(kind: str) -> bool:
        told = file.with_name(f"{file.name}.{kind}")
        return told.is_file() and told.read_text().strip() == hashlib.new(kind, file.read_bytes()).hexdigest()

    return [f"{file.name}: no right .{kind} beside it" for kind in ("md5", "sha1") if not is_right(kind)]


def sign(files: list[Path]) -> None:
    with tempfile.TemporaryDirectory() as home:
        gpg = ["gpg", "--homedir", home, "--batch", "--quiet", "--yes", "--passphrase", "", "--pinentry-mode", "loopback"]
        subprocess.run([*gpg, "--quick-generate-key", "hprof (thrown away)", "ed25519", "sign"], check=True, capture_output=True)
        for file in files:
            signature = file.with_name(f"{file.name}.asc")
            subprocess.run([*gpg, "--armor", "--output", str(signature), "--detach-sign", str(file)], check=True)
            subprocess.run([*gpg, "--verify", str(signature), str(file)], check=True, capture_output=True)
        subprocess.run(["gpgconf", "--homedir", home, "--kill", "all"], check=False)


if __name__ == "__main__":
    main()
