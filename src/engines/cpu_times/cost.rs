//! The cost of calls.

use super::context_table::{ContextId, ContextTable};
use names::frame::FrameId;

/// The cost of the calls in one context, or in several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The number of calls that have begun.
    pub calls: u64,
    /// Time in the innermost method itself, in nanoseconds.
    pub own: u64,
    /// Time in it and in the methods it called, in nanoseconds; recursion counts once.
    pub total: u64,
}

/// The costs of all contexts.
pub(super) struct ContextCosts<'a> {
    /// The contexts.
    pub(super) table: &'a ContextTable,
    /// The cost of each.
    pub(super) cost_of: &'a dyn Fn(ContextId) -> Cost,
}

impl ContextCosts<'_> {
    /// Iterates over the contexts that have a cost, in the order in which they were first seen.
    pub(super) fn iter(&self) -> impl Iterator<Item = (ContextId, Cost)> {
        let all = self
            .table
            .ids()
            .map(|context| (context, (self.cost_of)(context)));
        all.filter(|&(_, cost)| cost != Cost::default())
    }

    /// Returns the sum of all costs.
    #[inline(never)]
    pub(super) fn sum(&self) -> Cost {
        self.iter().fold(Cost::default(), |mut sum, (_, cost)| {
            sum += cost;
            sum
        })
    }
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
