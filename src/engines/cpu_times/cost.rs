//! The cost of calls.

use names::frame::FrameId;
use names::trace::TraceId;

/// The cost of the calls of one trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of calls that have begun.
    pub calls: u64,
    /// Time in the innermost method itself, in nanoseconds.
    pub own: u64,
    /// Time in it and in the methods it called, in nanoseconds; recursion counts once.
    pub total: u64,
}

/// A trace and its cost.
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
