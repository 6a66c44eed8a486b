//! The allocations by stack, and the sampled blocks that are not freed.

use std::time::{Duration, Instant};

use jvmti::TrackedBlock;
use memory::{List, Map, OrStop};
use names::trace::TraceId;

/// The age from which on a block is old: most blocks are freed within milliseconds, and a leak within minutes of its
/// beginning is for the most part older.
pub(super) const OLD: Duration = Duration::from_secs(10);

/// The allocations by stack.
#[derive(Default)]
pub(super) struct MallocSites {
    allocated: Map<TraceId, Estimate>,
    live: List<Block>,
}

/// A sampled block.
pub(super) struct Block {
    pub(super) trace: TraceId,
    pub(super) bytes: u64,
    /// The number of blocks of this size that it stands for.
    pub(super) stands_for: f64,
    /// `None` if it is not known when it is freed.
    pub(super) tracked: Option<TrackedBlock>,
    pub(super) since: Instant,
}

/// An estimate of some blocks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Estimate {
    pub(super) bytes: f64,
    pub(super) blocks: f64,
    /// The variance of the bytes.
    pub(super) variance: f64,
}

/// The estimates for one stack, or for all.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct MallocAmount {
    pub(super) live: Estimate,
    pub(super) old: Estimate,
    pub(super) allocated: Estimate,
}

/// The estimates at some moment.
#[derive(Default)]
pub(super) struct MallocAmounts {
    pub(super) totals: MallocAmount,
    pub(super) by_trace: Map<TraceId, MallocAmount>,
}

impl Estimate {
    /// Adds a sampled block of which `left` bytes are there. A block of `s` bytes is sampled with the probability `p`, stands
    /// for `1 / p`, and adds `(1 - p) / p^2` to the variance of the number, because only the share `p` of the blocks adds
    /// it.
    fn add(&mut self, left: u64, stands_for: f64) {
        let left = left as f64;
        self.bytes += left * stands_for;
        self.blocks += stands_for;
        self.variance += left * left * stands_for * (stands_for - 1.0);
    }

    fn add_all(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.blocks += other.blocks;
        self.variance += other.variance;
    }
}

impl MallocSites {
    /// Counts a sampled allocation.
    pub(super) fn add(&mut self, block: Block) {
        let allocated = self.allocated.get_or_default(block.trace).or_stop();
        allocated.add(block.bytes, block.stands_for);
        if block.tracked.is_some() {
            self.live.push(block).or_stop();
        }
    }

    /// Counts allocations of which only the size is known.
    pub(super) fn add_lost(&mut self, trace: TraceId, bytes: u64) {
        self.allocated.get_or_default(trace).or_stop().bytes += bytes as f64;
    }

    /// Forgets the blocks that have been freed.
    pub(super) fn remove_freed(&mut self) {
        self.live.retain(|block| block.left() > 0);
    }

    /// Counts allocations from zero on, except the blocks that are alive.
    pub(super) fn start_anew(&mut self) {
        self.allocated = Map::default();
    }

    /// Returns all estimates.
    pub(super) fn amounts(&self, now: Instant) -> MallocAmounts {
        let mut amounts = MallocAmounts::default();
        for (&trace, &allocated) in &self.allocated {
            let of_trace = amounts.by_trace.get_or_default(trace).or_stop();
            of_trace.allocated = allocated;
            amounts.totals.allocated.add_all(allocated);
        }
        for block in &self.live {
            let left = block.left();
            if left == 0 {
                continue;
            }
            let of_trace = amounts.by_trace.get_or_default(block.trace).or_stop();
            let is_old = now.saturating_duration_since(block.since) >= OLD;
            for amount in [of_trace, &mut amounts.totals] {
                amount.live.add(left, block.stands_for);
                if is_old {
                    amount.old.add(left, block.stands_for);
                }
            }
        }
        amounts
    }
}

impl Block {
    /// Returns the bytes that are not freed.
    fn left(&self) -> u64 {
        self.tracked.map_or(0, |tracked| tracked.left(self.bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_and_their_variances_add_up() {
        let mut estimate = Estimate::default();
        estimate.add(100, 4.0);
        estimate.add(1_000, 1.0);
        let expected = Estimate {
            bytes: 1_400.0,
            blocks: 5.0,
            variance: 120_000.0,
        };
        assert_eq!(estimate, expected);
        let mut sum = expected;
        sum.add_all(estimate);
        assert_eq!((sum.bytes, sum.variance), (2_800.0, 240_000.0));
    }
}
