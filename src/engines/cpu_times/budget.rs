//! `budget=`: while counting every call would cost the program more than its share, the methods that are called most are
//! no longer counted.

use std::time::{Duration, Instant};

use super::ledger::Ledger;
use super::redefine::ClassRedefiner;
use super::rewrite::ClassRewriter;
use crate::engines::worker::Worker;
use jvmti::{Jni, process_cpu_time};
use memory::{Map, OrStop};
use names::frame::FrameId;

/// The time over which costs are compared with the budget.
const WINDOW: Duration = Duration::from_millis(500);
/// The same at the beginning, when every call is counted. Later ones are longer: where classes were defined anew, their methods are
/// interpreted at first, and counting seems to cost more than it will.
const FIRST_WINDOW: Duration = Duration::from_millis(100);
/// Costs of less CPU time than this in a window, in nanoseconds, hurt nobody.
const HARMLESS: f64 = 2.5e6;
/// The part of the budget that the methods may cost that go on being counted. A service makes several times as many calls once its code
/// is compiled again, and each further step throws that away.
const TARGET: f64 = 0.05;
/// The most methods that are left out at once: the program is stopped while their classes are defined anew.
const MOST: usize = 200;

type Calls = Map<FrameId, u64>;

/// Keeps the costs within the budget.
pub(super) struct CallBudget<'a> {
    ledger: &'a Ledger,
    /// Returns the CPU time that counting has taken so far, in nanoseconds.
    counting: &'a dyn Fn() -> u64,
    rewriter: &'a ClassRewriter,
    redefiner: &'a ClassRedefiner,
    /// The share of the program's CPU time that counting may cost.
    share: f64,
    /// The beginning of the window.
    began: Spent,
    /// The calls counted until then. `None` if they were not looked at, because the window before was within the budget.
    calls: Option<Calls>,
}

/// CPU time up to a moment, in nanoseconds.
#[derive(Clone, Copy)]
struct Spent {
    counting: u64,
    process: u64,
}

impl Spent {
    fn so_far(counting: &dyn Fn() -> u64) -> Self {
        Self {
            counting: counting(),
            process: process_cpu_time(),
        }
    }
}

impl<'a> CallBudget<'a> {
    pub(super) fn new(
        percentage: u8,
        ledger: &'a Ledger,
        counting: &'a dyn Fn() -> u64,
        rewriter: &'a ClassRewriter,
        redefiner: &'a ClassRedefiner,
    ) -> Self {
        Self {
            ledger,
            counting,
            rewriter,
            redefiner,
            share: f64::from(percentage) / 100.0,
            began: Spent::so_far(counting),
            calls: Some(Calls::default()),
        }
    }

    /// Looks at the costs until the worker is told to end.
    pub(super) fn keep(mut self, jni: Jni<'_>, worker: &Worker) {
        let mut window = FIRST_WINDOW;
        while worker.sleep_until(Instant::now() + window) {
            self.end_window(jni);
            window = WINDOW;
        }
    }

    fn end_window(&mut self, jni: Jni<'_>) {
        let now = Spent::so_far(self.counting);
        let counting = now.counting.saturating_sub(self.began.counting) as f64;
        let process = now.process.saturating_sub(self.began.process) as f64;
        self.began = now;
        let allowed = allowed(self.share, counting, process);
        if counting <= HARMLESS || allowed >= counting {
            self.calls = None;
            return;
        }
        let calls = self.ledger.calls_by_method();
        let copy = calls.try_clone().or_stop();
        let Some(before) = self.calls.replace(copy) else {
            return;
        };
        let called = calls.into_iter().map(|(method, calls)| {
            let earlier = before.get(&method).copied().unwrap_or(0);
            (method, calls.saturating_sub(earlier))
        });
        let methods = most_called(called.collect(), TARGET * allowed / counting);
        let counted = |method| self.calls.as_ref().and_then(|calls| calls.get(&method));
        let methods: Vec<(FrameId, u64)> = methods
            .into_iter()
            .map(|method| (method, counted(method).copied().unwrap_or(0)))
            .collect();
        let classes = self.rewriter.leave_out_methods(&methods);
        // What the VM does not define anew continues to be counted.
        let _ = self.redefiner.retransform(jni, |signature, _| {
            classes.contains(&*names::class::name_of_signature(signature))
        });
        // The definition of classes took CPU time, and calls were counted meanwhile.
        self.began = Spent::so_far(self.counting);
        self.calls = Some(self.ledger.calls_by_method());
    }
}

/// Returns what counting may cost, in nanoseconds, if it has cost `counting` of the CPU time of the process. What it costs is
/// measured by the shortest time that it ever took, so it may be more than is known.
fn allowed(share: f64, counting: f64, process: f64) -> f64 {
    let own = (process - counting).max(0.0);
    match share < 1.0 {
        true => own * share / (1.0 - share),
        false => f64::INFINITY,
    }
}

/// Returns the methods that are called most, until the others have no more than `share` of all calls.
fn most_called(mut called: Vec<(FrameId, u64)>, share: f64) -> Vec<FrameId> {
    called.retain(|&(_, calls)| calls > 0);
    memory::sort_by_numbers(&mut called, |&(method, calls)| {
        [!calls, method.index().into()]
    });
    let mut left: u64 = called.iter().map(|&(_, calls)| calls).sum();
    let enough = left as f64 * share;
    let most = called.into_iter().take(MOST).take_while(|&(_, calls)| {
        let goes_on = left as f64 > enough;
        left -= calls;
        goes_on
    });
    most.map(|(method, _)| method).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engines::cpu_times::call_tree::tests::methods;
    use names::Tables;

    fn called(calls: &[u64]) -> (Vec<FrameId>, Vec<(FrameId, u64)>) {
        let tables = Tables::default();
        let count = u32::try_from(calls.len()).expect("a few");
        methods(&tables, count);
        let frames: Vec<FrameId> = (0..count)
            .filter_map(|number| tables.frames.find(number))
            .collect();
        let called = frames.iter().copied().zip(calls.iter().copied()).collect();
        (frames, called)
    }

    #[test]
    fn the_methods_called_most_go_until_the_others_are_few() {
        let (frames, calls) = called(&[10, 0, 600, 30, 360]);
        let of = |share| most_called(calls.clone(), share);
        assert_eq!(of(1.0), []);
        assert_eq!(of(0.4), [frames[2]]);
        assert_eq!(of(0.1), [frames[2], frames[4]]);
        assert_eq!(of(0.0), [frames[2], frames[4], frames[3], frames[0]]);
    }

    #[test]
    fn many_methods_go_in_several_steps() {
        let (_, calls) = called(&[7; 1000]);
        assert_eq!(most_called(calls, 0.0).len(), MOST);
    }

    #[test]
    fn what_is_allowed_is_a_share_of_all_that_is_used() {
        // Of 100 that are used, 60 are the program's own; with a fourth of them, that is a fifth of all.
        assert_eq!(allowed(0.2, 40.0, 100.0), 15.0);
        assert_eq!(allowed(0.2, 100.0, 90.0), 0.0);
        assert_eq!(allowed(1.0, 40.0, 100.0), f64::INFINITY);
    }
}
