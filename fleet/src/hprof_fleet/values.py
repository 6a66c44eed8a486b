"""The measured values: those of `hprof top --value`, and the columns of the exported tables that hold them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Value:
    """A kind of value."""

    name: str
    """As `hprof` calls it."""
    unit: str
    """`count`, `bytes` or `nanoseconds`."""
    table: str
    """The exported table that holds it."""
    column: str
    """Its column there, and in what is merged."""


# The most wanted first, as in `hprof top`.
VALUES = (
    Value("cpu", "count", "cpu_sample", "samples"),
    Value("cpu-time", "nanoseconds", "cpu_sample", "cpu_ns"),
    Value("wall", "nanoseconds", "wall_sample", "wall_ns"),
    Value("time", "nanoseconds", "call_time", "self_ns"),
    Value("inclusive-time", "nanoseconds", "call_time", "inclusive_ns"),
    Value("alloc-bytes", "bytes", "alloc_site", "alloc_bytes"),
    Value("alloc-objects", "count", "alloc_site", "alloc_objects"),
    Value("live-bytes", "bytes", "alloc_site", "live_bytes"),
    Value("live-objects", "count", "alloc_site", "live_objects"),
    Value("contention", "nanoseconds", "monitor", "contended_ns"),
    Value("contentions", "count", "monitor", "contentions"),
    Value("lock-wait", "nanoseconds", "lock_wait", "wait_ns"),
    Value("native-live-bytes", "bytes", "native_site", "native_live_bytes"),
    Value("native-live-blocks", "count", "native_site", "native_live_blocks"),
    Value("native-old-bytes", "bytes", "native_site", "native_old_bytes"),
    Value("native-old-blocks", "count", "native_site", "native_old_blocks"),
    Value("native-bytes", "bytes", "native_site", "native_bytes"),
    Value("native-blocks", "count", "native_site", "native_blocks"),
    Value("calls", "count", "call_time", "calls"),
)
# Samples are comparable only if each stands for the same time.
SAMPLES, SAMPLED_TIME = VALUES[:2]
BY_NAME = {value.name: value for value in VALUES}
