//! What threads do that the VM says are runnable, from their CPU times: Windows has no call for the state of one thread.
//!
//! Each look stands for the time since the one before. A look at Java code has found the thread running, or ready to run; a look at
//! native code has found it running, or waiting for something. The CPU time is given to the looks at Java code first, and what
//! they leave to those at native code. So the looks that count as running add up to the CPU time.

use std::time::Duration;

use jvmti::ThreadCpuClock;

use crate::os::Activity;

/// The time by which CPU times may be wrong at a moment: they move by 15.6 ms at once, to some thread that then runs.
const SLACK: i64 = 40_000_000;

/// The most CPU time that is kept for later looks: what was used long ago says little about now.
const MOST_LEFT: i64 = 500_000_000;

/// The system's information about a thread: its CPU time, in nanoseconds.
pub(crate) struct SystemState(u64);

/// Gives the CPU time of a thread to looks at it.
#[derive(Default)]
pub(crate) struct CpuShare {
    /// The CPU time when last asked; `None` before the first look.
    cpu_time: Option<u64>,
    /// The CPU time that has been given to no look yet, in nanoseconds; below zero if looks have had more.
    left: i64,
}

impl SystemState {
    /// Asks the system about a thread of this process; `None` if it has ended.
    pub(crate) fn of(tid: i32) -> Option<Self> {
        ThreadCpuClock::of_thread(tid).read().map(Self)
    }
}

impl CpuShare {
    /// Returns what a thread does, for `time` of its life. `system` was asked just before the VM was; `has_run` says that it ran when its
    /// stack was taken, `is_in_native` that its innermost frame is native.
    pub(crate) fn activity(
        &mut self,
        system: Option<&SystemState>,
        has_run: bool,
        is_in_native: bool,
        time: Duration,
    ) -> Activity {
        let time = nanos(time);
        if let Some(&SystemState(now)) = system {
            let used = now.saturating_sub(self.cpu_time.replace(now).unwrap_or(now));
            let most = MOST_LEFT.max(time.saturating_mul(2));
            self.left = (self.left + nanos(Duration::from_nanos(used))).min(most);
        }
        // Half, so that the looks get neither more nor less than there is.
        let needed = time / 2 + if is_in_native { SLACK } else { -SLACK };
        if self.left < needed {
            return match (has_run, is_in_native) {
                // It may have used less than the system notices.
                (true, _) => Activity::Running,
                (false, true) => Activity::Waiting,
                (false, false) => Activity::Runnable,
            };
        }
        self.left = self.left.saturating_sub(time);
        Activity::Running
    }
}

fn nanos(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND: Duration = Duration::from_millis(20);
    /// The step of the system's CPU times, in nanoseconds.
    const STEP: u64 = 15_625_000;

    fn look(is_in_native: bool, cpu_time: u64, share: &mut CpuShare) -> Activity {
        let system = SystemState(cpu_time / STEP * STEP);
        share.activity(Some(&system), false, is_in_native, ROUND)
    }

    /// Returns the share of the looks with this answer, of a thread that uses so much of each round; `is_in_native` says where a look finds it.
    fn share_of(
        wanted: Activity,
        used: u64,
        is_in_native: impl Fn(u64) -> Option<bool>,
        of: impl Fn(bool) -> bool,
    ) -> f64 {
        let mut share = CpuShare::default();
        let (mut found, mut all) = (0, 0);
        for round in 0..2_000 {
            let Some(is_in_native) = is_in_native(round) else {
                continue;
            };
            let activity = look(is_in_native, round * used, &mut share);
            if of(is_in_native) {
                all += 1;
                found += u32::from(activity == wanted);
            }
        }
        f64::from(found) / f64::from(all)
    }

    #[test]
    fn a_thread_runs_for_as_long_as_its_cpu_time_says() {
        let all = |_| true;
        for percent in [0, 3, 20, 50, 90, 100] {
            let used = 20_000_000 * percent / 100;
            let running = |is_in_native: fn(u64) -> Option<bool>| {
                share_of(Activity::Running, used, is_in_native, all)
            };
            let expected = percent as f64 / 100.0;
            for found in [running(|_| Some(false)), running(|_| Some(true))] {
                assert!((found - expected).abs() < 0.01, "{percent} {found}");
            }
        }
    }

    #[test]
    fn looks_may_be_far_between() {
        // Every fifth one stands for ten rounds. The thread uses a third of the time.
        let mut share = CpuShare::default();
        let (mut passed, mut running) = (Duration::ZERO, Duration::ZERO);
        for number in 0..2_000_u32 {
            let time = ROUND * if number.is_multiple_of(5) { 10 } else { 1 };
            passed += time;
            let used = u64::try_from(passed.as_nanos() / 3).expect("it is short");
            let system = SystemState(used / STEP * STEP);
            if share.activity(Some(&system), false, false, time) == Activity::Running {
                running += time;
            }
        }
        let share = running.as_secs_f64() / passed.as_secs_f64();
        assert!((share - 1.0 / 3.0).abs() < 0.01, "{share}");
        // Few looks are enough.
        let mut share = CpuShare::default();
        let running = (0..=8).filter(|&number| {
            let system = SystemState(number * 125_000_000);
            let time = Duration::from_millis(500);
            share.activity(Some(&system), false, false, time) == Activity::Running
        });
        assert_eq!(running.count(), 2);
    }

    #[test]
    fn what_runs_in_java_leaves_nothing_to_native_code() {
        // It reads from a socket in three looks of four, and computes in the fourth.
        let in_turn = |round: u64| Some(!round.is_multiple_of(4));
        let in_java = share_of(Activity::Running, 5_000_000, in_turn, |native| !native);
        let in_native = share_of(Activity::Waiting, 5_000_000, in_turn, |native| native);
        assert!(in_java > 0.99 && in_native > 0.99, "{in_java} {in_native}");
        // The VM calls it waiting in every other look.
        let at_times = |round: u64| round.is_multiple_of(2).then_some(false);
        let running = share_of(Activity::Running, 10_000_000, at_times, |_| true);
        assert!(running > 0.99, "{running}");
    }

    #[test]
    fn a_thread_that_ran_when_its_stack_was_taken_runs() {
        let activity = CpuShare::default().activity(None, true, true, ROUND);
        assert_eq!(activity, Activity::Running);
    }

    #[test]
    fn the_system_knows_the_cpu_time_of_a_thread() {
        assert!(SystemState::of(jvmti::current_tid()).is_some());
        // The numbers of threads are multiples of four.
        assert!(SystemState::of(1).is_none());
    }
}
