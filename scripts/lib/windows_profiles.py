"""Compares what two text profiles say of a program's own code: python3 windows_profiles.py PROGRAM LINUX.txt WINDOWS.txt

The rows of SITES, CPU TIME and MONITOR TIME that are of the program must be the same in both, but for times, ranks and shares. What
the VM allocates while it links the program's methods does not count: of other classes than the program's, only those that programs
of the tests allocate themselves. Prints what differs, and exits 1.
"""

import collections
import re
import sys

TRACE = re.compile(r"TRACE (\d+):(?: \(thread=\d+\))?$")
SECTION = re.compile(r"(SITES|CPU TIME|MONITOR TIME)\b.* BEGIN ")
# rank, self, accum; then of SITES live bytes and objects, and allocated bytes and objects, of the others a count; trace and name.
ROW = re.compile(r"\s*\d+\s+[\d.]+%\s+[\d.]+%\s+((?:\d+\s+)+)(\d+) (\S.*)$")


# The part of a lambda's name that is an address.
ADDRESS = re.compile(r"(\$\$Lambda)[$/\w.]*")
# Classes of the JDK's that programs of the tests allocate.
ALLOCATED = {"int[]", "long[]", "long[][]", "java.lang.String[]", "java.lang.StringBuilder"}


def rows(path: str, program: str) -> dict[str, collections.Counter]:
    traces: dict[str, list[str]] = {}
    found: dict[str, collections.Counter] = collections.defaultdict(collections.Counter)
    trace, section = None, ""
    with open(path, encoding="utf-8", newline="\n") as lines:
        for line in lines:
            if "\r" in line:
                sys.exit(f"{path} has line ends of Windows")
            if match := TRACE.match(line):
                trace = traces.setdefault(match[1], [])
            elif line.startswith("\t") and trace is not None:
                trace.append(ADDRESS.sub(r"\1", line.strip()))
            elif match := SECTION.match(line):
                section = match[1]
            elif section and line.startswith(f"{section}") and line.rstrip().endswith("END"):
                section = ""
            elif section and (match := ROW.match(line)):
                stack, name = traces.get(match[2], []), match[3].strip()
                numbers = " ".join(match[1].split())
                of_program = re.compile(rf"{program}[.$]")
                is_own = of_program.match(name) or section != "CPU TIME" and name in ALLOCATED | {"java.lang.Object"}
                if is_own and stack and of_program.match(stack[0]):
                    # JREs differ in whether their own classes have line numbers.
                    own = [frame for frame in stack if of_program.match(frame)]
                    found[section][f"{name} {numbers} at {' < '.join(own)}"] += 1
    return found


def main() -> None:
    program, linux, windows = sys.argv[1:]
    expected, got = rows(linux, program), rows(windows, program)
    if not any(expected.values()):
        sys.exit(f"{linux} says nothing of {program}")
    for section, there in expected.items():
        for row in there - got[section]:
            print(f"{section}: on Linux alone: {row}")
        for row in got[section] - there:
            print(f"{section}: on Windows alone: {row}")
    if expected != got:
        sys.exit(1)
    print(f"{program}: {sum(sum(there.values()) for there in expected.values())} rows are the same")


if __name__ == "__main__":
    main()
