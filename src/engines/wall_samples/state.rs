//! The state of a thread at a moment: it runs, or it waits, and for what.

use std::fs;

use jvmti::{FrameInfo, ThreadStateFlags};

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

/// The system's information about a thread that the VM says is runnable.
pub(super) struct SystemState {
    /// `true` if it is on a CPU, or waits for one.
    pub(super) is_ready: bool,
    /// The time for which it has been on a CPU, and the time for which it has waited for one, in nanoseconds; `None`
    /// if the system does not keep them.
    pub(super) times: Option<(u64, u64)>,
}

/// Decides between running and waiting for a CPU: in the long run in the ratio of the times that the system measures.
///
/// The state at the very moment of a look is no answer, because the thread that looks has taken one of the CPUs.
#[derive(Default)]
pub(super) struct CpuShare {
    /// The times when last asked.
    times: (u64, u64),
    /// The part of the next sample that is due to running.
    due: f64,
}

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

    /// Returns the state of a thread with this stack. `system` was asked just before the VM was.
    ///
    /// The flags are of a later moment than the stack. A thread is parked, sleeps or waits in a native method alone, so one
    /// whose innermost frame is none has begun to wait since, and ran when its stack was taken.
    pub(super) fn of(
        flags: ThreadStateFlags,
        frames: &[FrameInfo],
        system: Option<&SystemState>,
        share: &mut CpuShare,
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
        } else if waits || system.is_none_or(|system| system.is_ready) {
            share.next(system.and_then(|system| system.times))
        } else if flags.is_in_native() || is_in_native {
            Self::Native
        } else {
            Self::Vm
        }
    }
}

impl SystemState {
    /// Asks the system about a thread of this process; `None` if it has ended, or the system does not tell.
    pub(super) fn of(tid: i32) -> Option<Self> {
        let read = |name| fs::read_to_string(format!("/proc/self/task/{tid}/{name}")).ok();
        let is_ready = is_ready(&read("stat")?)?;
        let times = is_ready.then(|| read("schedstat")).flatten();
        Some(Self {
            is_ready,
            times: times.and_then(|text| cpu_and_wait(&text)),
        })
    }
}

/// Reads the state in a line like `7 (name) R 1 ...`, where the name may have any characters.
fn is_ready(stat: &str) -> Option<bool> {
    let (_, rest) = stat.rsplit_once(')')?;
    Some(rest.trim_start().starts_with('R'))
}

/// Reads the first two of three numbers.
fn cpu_and_wait(schedstat: &str) -> Option<(u64, u64)> {
    let mut numbers = schedstat.split_whitespace();
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

impl CpuShare {
    fn next(&mut self, times: Option<(u64, u64)>) -> WallState {
        let (cpu, wait) = times.unwrap_or_default();
        let (before_cpu, before_wait) = std::mem::replace(&mut self.times, (cpu, wait));
        let (cpu, wait) = (
            cpu.saturating_sub(before_cpu) as f64,
            wait.saturating_sub(before_wait) as f64,
        );
        self.due += if wait > 0.0 { cpu / (cpu + wait) } else { 1.0 };
        if self.due < 0.5 {
            return WallState::Runnable;
        }
        self.due -= 1.0;
        WallState::Running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_and_waits_in_the_ratio_of_its_times() {
        let mut share = CpuShare::default();
        let running = (1..=1_000_u64)
            .filter(|&look| share.next(Some((look * 3, look * 7))) == WallState::Running)
            .count();
        assert!(running.abs_diff(300) <= 1, "{running}");
        // A thread that never waits, and one in a system that does not tell, always run.
        for times in [|look| Some((look, 0)), |_| None] {
            let mut share = CpuShare::default();
            assert!((1..100).all(|look| share.next(times(look)) == WallState::Running));
        }
    }

    #[test]
    fn the_system_tells_of_threads_whatever_their_names() {
        assert_eq!(is_ready("7 (a) S 1) R 1 2"), Some(true));
        assert_eq!(is_ready("7 (R R) S 1 2"), Some(false));
        assert_eq!(is_ready(""), None);
        assert_eq!(cpu_and_wait("12 34 5\n"), Some((12, 34)));
        assert_eq!(cpu_and_wait("12"), None);
        let own = SystemState::of(jvmti::current_tid()).expect("this thread");
        assert!(own.is_ready);
        assert!(SystemState::of(i32::MAX).is_none());
    }
}
