//! The events that are read, by their names, those of the JDK from 11 on and those of async-profiler.

use super::own::{OwnEvent, SAMPLED_TIME};

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum EventKind {
    /// A sample of a thread that ran Java code.
    Execution,
    /// A sample of a thread's CPU time.
    CpuTime,
    /// A sample of a thread in native code, running or not.
    Native,
    /// A sample of any thread, running or not.
    WallClock,
    /// A sample of allocations, which stands for so many bytes.
    Allocation,
    /// The allocation that took a new buffer, or one outside of a buffer.
    Buffer,
    /// A wait for a monitor.
    Enter,
    /// Another wait, in the state that frame stands for.
    Wait(&'static str),
    /// A row of a profile, in the order of [`super::own::OWN`].
    Own(usize),
    /// The part of such a row that was measured in one step of time.
    InStep(usize),
    /// The time in which samples of a profile were taken.
    SampledTime,
}

/// The frames that stand for the states of threads in waits, as in samples of elapsed time.
pub(super) const BLOCKED: &str = "<blocked>";
pub(super) const NATIVE: &str = "<native>";
const PARKED: &str = "<parked>";
const SLEEPING: &str = "<sleeping>";
const WAITING: &str = "<waiting>";
const RUNNING: &str = "<running>";

impl EventKind {
    /// Returns the kind of events of this type.
    pub(super) fn of(name: &str) -> Option<EventKind> {
        Some(match name {
            "jdk.ExecutionSample" => EventKind::Execution,
            "jdk.CPUTimeSample" => EventKind::CpuTime,
            "jdk.NativeMethodSample" => EventKind::Native,
            "profiler.WallClockSample" => EventKind::WallClock,
            "jdk.ObjectAllocationSample" => EventKind::Allocation,
            "jdk.ObjectAllocationInNewTLAB" | "jdk.ObjectAllocationOutsideTLAB" => {
                EventKind::Buffer
            }
            "jdk.JavaMonitorEnter" => EventKind::Enter,
            "jdk.JavaMonitorWait" => EventKind::Wait(WAITING),
            "jdk.ThreadPark" => EventKind::Wait(PARKED),
            "jdk.ThreadSleep" => EventKind::Wait(SLEEPING),
            SAMPLED_TIME => EventKind::SampledTime,
            name => match OwnEvent::place(name) {
                Some(place) => EventKind::Own(place),
                None => EventKind::InStep(OwnEvent::place_in_step(name)?),
            },
        })
    }

    /// Returns the name of its events, where another kind may count in its place.
    pub(super) fn name(self) -> &'static str {
        match self {
            EventKind::Execution => "jdk.ExecutionSample",
            EventKind::CpuTime => "jdk.CPUTimeSample",
            EventKind::Native => "jdk.NativeMethodSample",
            EventKind::WallClock => "profiler.WallClockSample",
            EventKind::Allocation => "jdk.ObjectAllocationSample",
            EventKind::Buffer => "jdk.ObjectAllocationInNewTLAB and OutsideTLAB",
            EventKind::Enter => "jdk.JavaMonitorEnter",
            EventKind::Wait(_) => "jdk.ThreadPark, ThreadSleep and JavaMonitorWait",
            EventKind::Own(_) | EventKind::InStep(_) | EventKind::SampledTime => "hprof",
        }
    }
}

/// Returns the frame that stands for a state of a wall-clock sample.
pub(super) fn frame_of_state(state: &str) -> &'static str {
    match state {
        "STATE_PARKED" => PARKED,
        "STATE_IN_OBJECT_WAIT" => WAITING,
        "STATE_BLOCKED_ON_MONITOR_ENTER" => BLOCKED,
        // async-profiler knows no more than that a thread does not run.
        "STATE_SLEEPING" => SLEEPING,
        _ => RUNNING,
    }
}
