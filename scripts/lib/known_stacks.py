"""Compares the stacks of a profile of java-tests/samples/Paths.java with those that the program can have."""

import re

CALL = re.compile(r"\b(r(?:_[a-d])*|begin)\(")
DEFINITION = re.compile(r"^    (?:    )?(?:public |private |static |synchronized )*(?:long|void|IllegalStateException) \w+\(.*[{;]$")
FRAME = re.compile(r"\tPaths(?:\$\w+)?\.(r(?:_[a-d])*|begin)\(Paths\.java:(\d+)\)")


CUT = ("\tjava.lang.Thread.<frames-in-heap>", "\tjava.lang.Thread.<frames-cut>")
SECTION = {False: "CPU SAMPLES", True: "WALL SAMPLES"}


def calls_in(source):
    """The lines of the calls of each method."""
    calls = {}
    for number, line in enumerate(source.splitlines(), 1):
        if not DEFINITION.match(line):
            for name in CALL.findall(line):
                calls.setdefault(name, set()).add(number)
    return calls


def caller_of(method):
    return method.rpartition("_")[0] or "begin"


def fault_of(frames, calls):
    """What is wrong with the frames of a stack, innermost first; None if it is one that the program can have."""
    places = [place for place, frame in enumerate(frames) if FRAME.match(frame)]
    if not places:
        return None
    own = frames[places[0] : places[-1] + 1]
    methods = [FRAME.match(frame) for frame in own]
    if not all(methods):
        return "other frames are between"
    expected = methods[0][1]
    for place, method in enumerate(methods):
        if method[1] != expected:
            return f"{expected} is missing"
        if place > 0 and int(method[2]) not in calls[methods[place - 1][1]]:
            return f"line {method[2]} does not call {methods[place - 1][1]}"
        expected = caller_of(expected)
    # The VM may have left the outer frames of a virtual thread that has waited in the heap, and a walk may have been cut for the time
    # that it took: the stack says both.
    outer = frames[places[-1] + 1 :]
    is_cut = bool(outer) and outer[0].startswith(CUT)
    return None if is_cut or methods[-1][1] == "begin" else "it is cut off"


def compare(profile, source, is_wall):
    """The number of samples whose stacks are known, and the stacks that cannot be: (what is wrong, samples, frames)."""
    calls, traces, frames = calls_in(source), {}, []
    for line in profile.splitlines():
        if line.startswith("TRACE "):
            frames = traces[line.split()[1].rstrip(":")] = []
        elif line.startswith("\t"):
            frames.append(line)
    name = SECTION[is_wall]
    section = profile[profile.rindex(f"{name} BEGIN") :].splitlines()[2:]
    known, wrong = 0, []
    for row in section[: section.index(f"{name} END")]:
        _, _, _, count, trace, _ = row.split(None, 5)
        stack = traces[trace]
        if any(FRAME.match(frame) for frame in stack):
            known += int(count)
            fault = fault_of(stack, calls)
            if fault:
                wrong.append((fault, int(count), stack))
    return known, wrong
