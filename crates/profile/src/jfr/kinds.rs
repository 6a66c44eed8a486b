//! The events that are read, by their names, those of the JDK from 11 on and those of async-profiler.

use super::own::OwnEvent;

/// A kind of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
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
}

/// The frames that stand for the states of threads in waits, as in samples of elapsed time.
pub(super) const BLOCKED: &str = "<blocked>";
pub(super) const NATIVE: &str = "<native>";
const PARKED: &str = "<parked>";
const SLEEPING: &str = "<sleeping>";
const WAITING: &str = "<waiting>";
const RUNNING: &str = "<running>";

impl Kind {
    /// Returns the kind of events of this type.
    pub(super) fn of(name: &str) -> Option<Kind> {
        Some(match name {
            "jdk.ExecutionSample" => Kind::Execution,
            "jdk.CPUTimeSample" => Kind::CpuTime,
            "jdk.NativeMethodSample" => Kind::Native,
            "profiler.WallClockSample" => Kind::WallClock,
            "jdk.ObjectAllocationSample" => Kind::Allocation,
            "jdk.ObjectAllocationInNewTLAB" | "jdk.ObjectAllocationOutsideTLAB" => Kind::Buffer,
            "jdk.JavaMonitorEnter" => Kind::Enter,
            "jdk.JavaMonitorWait" => Kind::Wait(WAITING),
            "jdk.ThreadPark" => Kind::Wait(PARKED),
            "jdk.ThreadSleep" => Kind::Wait(SLEEPING),
            name => Kind::Own(OwnEvent::place(name)?),
        })
    }

    /// Returns the name of its events, where another kind may count in its place.
    pub(super) fn name(self) -> &'static str {
        match self {
            Kind::Execution => "jdk.ExecutionSample",
            Kind::CpuTime => "jdk.CPUTimeSample",
            Kind::Native => "jdk.NativeMethodSample",
            Kind::WallClock => "profiler.WallClockSample",
            Kind::Allocation => "jdk.ObjectAllocationSample",
            Kind::Buffer => "jdk.ObjectAllocationInNewTLAB and OutsideTLAB",
            Kind::Enter => "jdk.JavaMonitorEnter",
            Kind::Wait(_) => "jdk.ThreadPark, ThreadSleep and JavaMonitorWait",
            Kind::Own(_) => "hprof",
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
