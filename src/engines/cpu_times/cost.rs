//! What calls have cost.

use crate::names::frame::FrameId;
use crate::names::trace::TraceId;

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
