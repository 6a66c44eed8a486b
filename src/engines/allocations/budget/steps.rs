//! The sampling intervals that a budget may choose from.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use super::super::sample_weight::SampleWeight;
use jvmti::Interval;

/// The interval of the first step that is wider than tracking every object.
const FIRST: u32 = 16 * 1024;
/// The ratio of a step's interval to that of the step before.
const FACTOR: u32 = 4;

const _: () = assert!(Step::MOST <= 1 << Step::BITS);

/// The number of a step: 0 is what the options ask for, higher ones have wider intervals.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(in super::super) struct Step(u8);

/// The steps, and the one in force.
///
/// A thread's next event is drawn by the VM right after its last one. So its object has the weight of the step that was in
/// force at the thread's last event: with that, sums are unbiased across a change of the step.
pub(in super::super) struct Steps {
    /// By step.
    intervals: Vec<Interval>,
    weights: Vec<SampleWeight>,
    current: AtomicU8,
    has_changed: AtomicBool,
}

impl Step {
    /// The bits that a step takes.
    pub(in super::super) const BITS: u32 = 3;
    /// The most steps, including the first.
    const MOST: usize = 6;

    pub(in super::super) fn new(number: u8) -> Self {
        Self(number)
    }

    pub(in super::super) fn number(self) -> u8 {
        self.0
    }
}

impl Steps {
    /// Returns the steps for the interval that the options ask for; only that one if there is no budget.
    pub(in super::super) fn new(wanted: Interval, has_budget: bool) -> Self {
        let narrowest = match wanted {
            Interval::Every => 0,
            Interval::Bytes(bytes) => bytes,
        };
        let wider = std::iter::successors(Some(FIRST), |bytes| bytes.checked_mul(FACTOR));
        let wider = wider.filter(|&bytes| has_budget && bytes > narrowest);
        let wider = wider.map(Interval::Bytes).take(Step::MOST - 1);
        let intervals: Vec<Interval> = std::iter::once(wanted).chain(wider).collect();
        Self {
            weights: intervals.iter().copied().map(SampleWeight::new).collect(),
            intervals,
            current: AtomicU8::new(0),
            has_changed: AtomicBool::new(false),
        }
    }

    pub(in super::super) fn current(&self) -> Step {
        Step(self.current.load(Ordering::Relaxed))
    }

    /// Notes that the VM has been told the interval of a step.
    pub(super) fn enter(&self, step: Step) {
        self.current.store(step.0, Ordering::Relaxed);
        self.has_changed.store(true, Ordering::Relaxed);
    }

    /// Returns `true` if anything was measured at another step than the first.
    pub(in super::super) fn has_changed(&self) -> bool {
        self.has_changed.load(Ordering::Relaxed)
    }

    pub(in super::super) fn weight(&self, step: Step) -> SampleWeight {
        self.weights[usize::from(step.0)]
    }

    pub(super) fn interval(&self, step: Step) -> Interval {
        self.intervals[usize::from(step.0)]
    }

    /// Iterates over all steps, the one with the narrowest interval first.
    pub(super) fn all(&self) -> impl DoubleEndedIterator<Item = Step> + use<> {
        (0_u8..)
            .map(Step)
            .take(self.intervals.len())
            .collect::<Vec<_>>()
            .into_iter()
    }

    /// Returns `true` if every object is counted at the first step.
    pub(in super::super) fn begin_exact(&self) -> bool {
        matches!(self.weights[0], SampleWeight::Exact)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_widen_what_the_options_ask_for() {
        let intervals = |wanted, has_budget| Steps::new(wanted, has_budget).intervals;
        let bytes = Interval::Bytes;
        let k = |kilobytes: u32| bytes(kilobytes * 1024);
        let all = [k(16), k(64), k(256), k(1024), k(4096)];
        assert_eq!(intervals(Interval::Every, false), [Interval::Every]);
        assert_eq!(
            intervals(Interval::Every, true),
            [&[Interval::Every][..], &all].concat()
        );
        assert_eq!(intervals(k(512), true)[..3], [k(512), k(1024), k(4096)]);
        assert_eq!(intervals(bytes(0x7fff_ffff), true), [bytes(0x7fff_ffff)]);
        assert_eq!(intervals(bytes(77), true).len(), Step::MOST);
    }
}
