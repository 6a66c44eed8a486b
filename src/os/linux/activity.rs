//! What threads do that the VM says are runnable, from `/proc/self/task`.

use std::fs;
use std::time::Duration;

use crate::os::Activity;

/// The system's information about a thread.
pub(crate) struct SystemState {
    /// `true` if it is on a CPU, or waits for one.
    is_ready: bool,
    /// The time for which it has been on a CPU, and the time for which it has waited for one, in nanoseconds; `None`
    /// if the system does not keep them.
    times: Option<(u64, u64)>,
}

/// Decides between running and waiting for a CPU: in the long run in the ratio of the times that the system measures.
///
/// The state at the very moment of a look is no answer, because the thread that looks has taken one of the CPUs.
#[derive(Default)]
pub(crate) struct CpuShare {
    /// The times when last asked.
    times: (u64, u64),
    /// The part of the next sample that is due to running.
    due: f64,
}

impl SystemState {
    /// Asks the system about a thread of this process; `None` if it has ended, or the system does not tell.
    pub(crate) fn of(tid: i32) -> Option<Self> {
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
    /// Returns what a thread does. `system` was asked just before the VM was; `has_run` says that it ran when its stack was taken.
    pub(crate) fn activity(
        &mut self,
        system: Option<&SystemState>,
        has_run: bool,
        _is_in_native: bool,
        _time: Duration,
    ) -> Activity {
        if !has_run && system.is_some_and(|system| !system.is_ready) {
            return Activity::Waiting;
        }
        self.next(system.and_then(|system| system.times))
    }

    fn next(&mut self, times: Option<(u64, u64)>) -> Activity {
        let (cpu, wait) = times.unwrap_or_default();
        let (before_cpu, before_wait) = std::mem::replace(&mut self.times, (cpu, wait));
        let (cpu, wait) = (
            cpu.saturating_sub(before_cpu) as f64,
            wait.saturating_sub(before_wait) as f64,
        );
        self.due += if wait > 0.0 { cpu / (cpu + wait) } else { 1.0 };
        if self.due < 0.5 {
            return Activity::Runnable;
        }
        self.due -= 1.0;
        Activity::Running
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_runs_and_waits_in_the_ratio_of_its_times() {
        let mut share = CpuShare::default();
        let running = (1..=1_000_u64)
            .filter(|&look| share.next(Some((look * 3, look * 7))) == Activity::Running)
            .count();
        assert!(running.abs_diff(300) <= 1, "{running}");
        // A thread that never waits, and one in a system that does not tell, always run.
        for times in [|look| Some((look, 0)), |_| None] {
            let mut share = CpuShare::default();
            assert!((1..100).all(|look| share.next(times(look)) == Activity::Running));
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
