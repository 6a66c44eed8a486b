//! What calls have cost.

use std::sync::atomic::{AtomicU64, Ordering};

use super::frame::FrameId;
use super::trace::TraceId;

/// What becomes of costs that are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Totals {
    /// They go on.
    Kept,
    /// Counting starts anew.
    Reset,
}

impl Totals {
    /// The value of a counter.
    pub fn read(self, counter: &AtomicU64) -> u64 {
        match self {
            Self::Kept => counter.load(Ordering::Relaxed),
            Self::Reset => counter.swap(0, Ordering::Relaxed),
        }
    }
}

/// What the calls of one trace have cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Calls that have begun.
    pub calls: u64,
    /// Time in the innermost method itself, in nanoseconds.
    pub own: u64,
    /// Time in it and in what it called, in nanoseconds; the time of a recursion counts once.
    pub total: u64,
}

/// A trace and what it has cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceCost {
    /// The trace.
    pub trace: TraceId,
    /// Its cost.
    pub cost: Cost,
}

/// A method, by any frame of it, and the method that called it.
pub type CallPair = (FrameId, Option<FrameId>);

impl std::ops::AddAssign for Cost {
    fn add_assign(&mut self, other: Self) {
        self.calls += other.calls;
        self.own += other.own;
        self.total += other.total;
    }
}
