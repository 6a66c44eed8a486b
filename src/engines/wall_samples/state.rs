//! The state of a thread at a moment: it runs, or it waits, and for what.

use std::time::Duration;

use jvmti::{FrameInfo, ThreadStateFlags};

use crate::os::{Activity, CpuShare, SystemState};

/// The state of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WallState {
    /// It runs on a CPU.
    Running,
    /// It could run, but no CPU is free for it.
    Runnable,
    /// It wants a monitor that another thread owns.
    Blocked,
    /// It is parked, as by `LockSupport.park`.
    Parked,
    /// It is in `Object.wait`.
    Waiting,
    /// It is in `Thread.sleep`.
    Sleeping,
    /// It waits in native code, such as a read from a socket.
    Native,
    /// It waits for the VM, such as for the end of a collection.
    Vm,
}

/// The name of the frame below the state of a virtual thread that waits and keeps its carrier.
pub(super) const PINNED: &str = "<pinned>";

impl WallState {
    /// Returns the name of the frame that stands for the state.
    pub(super) fn frame(self) -> &'static str {
        match self {
            Self::Running => "<running>",
            Self::Runnable => "<runnable>",
            Self::Blocked => "<blocked>",
            Self::Parked => "<parked>",
            Self::Waiting => "<waiting>",
            Self::Sleeping => "<sleeping>",
            Self::Native => "<native>",
            Self::Vm => "<vm>",
        }
    }

    /// Returns `true` for the states in which a virtual thread releases its carrier, unless it is pinned.
    pub(super) fn waits(self) -> bool {
        matches!(
            self,
            Self::Blocked | Self::Parked | Self::Waiting | Self::Sleeping
        )
    }

    /// Returns the state of a thread with this stack, for `time` of its life. `system` was asked just before the VM was.
    ///
    /// The flags are of a later moment than the stack. A thread is parked, sleeps or waits in a native method alone, so one
    /// whose innermost frame is none has begun to wait since, and ran when its stack was taken.
    pub(super) fn of(
        flags: ThreadStateFlags,
        frames: &[FrameInfo],
        (system, share): (Option<&SystemState>, &mut CpuShare),
        time: Duration,
    ) -> Self {
        let is_in_native = frames.first().is_none_or(|frame| frame.location < 0);
        let waits = flags.is_waiting() || flags.is_parked() || flags.is_sleeping();
        if flags.is_entering() {
            Self::Blocked
        } else if is_in_native && flags.is_parked() {
            Self::Parked
        } else if is_in_native && flags.is_sleeping() {
            Self::Sleeping
        } else if is_in_native && (flags.is_in_object_wait() || flags.is_waiting()) {
            Self::Waiting
        } else {
            match share.activity(system, waits, is_in_native, time) {
                Activity::Running => Self::Running,
                Activity::Runnable => Self::Runnable,
                Activity::Waiting if flags.is_in_native() || is_in_native => Self::Native,
                Activity::Waiting => Self::Vm,
            }
        }
    }
}
