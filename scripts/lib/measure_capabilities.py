#!/usr/bin/env python3
"""Measures what each capability of the agent costs while nothing happens, as a ratio against the shortest time of all.

    measure_capabilities.py --library FILE --classes DIR [--rounds N] --jvm FEATURE=HOME ...

Runs scripts/lib/Capabilities.java without a capability and with each in turn, N times, and prints a row for each JVM and capability: the
ratios of the shortest CPU times of each piece of code, and of a VM that only starts, against the shortest in all rows: few capabilities
cost anything, so that is the time without one, and a busy machine only makes times longer. A capability that the VM does not
have is left out.
"""

import argparse
import resource
import subprocess

# The names of jvmti.h, and their bits in jvmtiCapabilities. The first row shows how far two measurements of the same differ.
NONE = "none"
CAPABILITIES = {
    NONE: None,
    "can_tag_objects": 0,
    "can_get_owned_monitor_info": 5,
    "can_get_current_contended_monitor": 6,
    "can_get_monitor_info": 7,
    "can_get_source_file_name": 11,
    "can_get_line_numbers": 12,
    "can_generate_monitor_events": 28,
    "can_get_current_thread_cpu_time": 22,
    "can_get_thread_cpu_time": 23,
    "can_generate_garbage_collection_events": 31,
    "can_retransform_classes": 37,
    "can_generate_resource_exhaustion_heap_events": 39,
    "can_generate_resource_exhaustion_threads_events": 40,
    "can_generate_sampled_object_alloc_events": 43,
    "can_support_virtual_threads": 44,
    "can_support_value_objects": 45,
}
PIECES = ["objects", "arrays", "exceptions", "monitors", "calls", "threads"]


def measure(home, options, classes):
    """The time of each piece, and the CPU time of the start, or None if the VM does not start."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    version = subprocess.run([f"{home}/bin/java", *options, "-version"], capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if version.returncode != 0:
        return None
    start = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    # All are compiled at the same calls, however busy the machine is.
    command = [f"{home}/bin/java", "-Xbatch", "-Xmx256m", *options, "-cp", classes, "Capabilities"]
    lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    times = {name: float(nanos) for name, nanos in (line.split() for line in lines)}
    return [times[piece] for piece in PIECES] + [start]


def best(one, other):
    """The shorter of each time: whatever else the machine does makes them longer."""
    return other if one is None else [min(pair) for pair in zip(one, other)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", required=True)
    parser.add_argument("--classes", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--jvm", action="append", required=True, help="FEATURE=HOME")
    arguments = parser.parse_args()
    print("| JVM | capability | " + " | ".join(PIECES) + " | start |")
    print("|---|---|" + "---|" * (len(PIECES) + 1))
    for jvm in arguments.jvm:
        feature, home = jvm.split("=", 1)
        times = dict.fromkeys(CAPABILITIES)
        for _ in range(arguments.rounds):
            for name, bit in CAPABILITIES.items():
                options = [] if name == NONE else [f"-agentpath:{arguments.library}={bit}"]
                measured = measure(home, options, arguments.classes)
                if measured is not None:
                    times[name] = best(times[name], measured)
        rows = {name: row for name, row in times.items() if row is not None}
        shortest = [min(column) for column in zip(*rows.values())]
        for name, row in rows.items():
            ratios = (one / least for one, least in zip(row, shortest))
            print(f"| {feature} | `{name}` | " + " | ".join(f"{ratio:.2f}" for ratio in ratios) + " |", flush=True)


if __name__ == "__main__":
    main()
