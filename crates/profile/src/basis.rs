//! How the numbers of a metric came about.

use crate::metric::Metric;
use crate::model::Profile;

/// How the numbers of a metric came about. Ordered by what one may rely on, the least first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// Samples of what threads were doing: shares are right on average, small rows are uncertain.
    Samples,
    /// Some events stand for all, and the numbers are projected from them.
    Estimate,
    /// Every event was counted.
    Exact,
}

impl Basis {
    /// Returns its name in JSON: `samples`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Basis::Samples => "samples",
            Basis::Estimate => "estimate",
            Basis::Exact => "exact",
        }
    }
}

impl Profile {
    /// Returns how the numbers of this metric came about.
    #[must_use]
    pub fn basis(&self, metric: Metric) -> Basis {
        let is_estimate = self.standard_error(metric).is_some() || self.estimated.contains(&metric);
        match metric {
            // Without a standard error of their own.
            Metric::NativeLiveBlocks | Metric::NativeOldBlocks | Metric::NativeBlocks => {
                Basis::Estimate
            }
            Metric::Cpu
            | Metric::Wall
            | Metric::Blocked
            | Metric::Parked
            | Metric::Pinned
            | Metric::LockWait => Basis::Samples,
            _ if is_estimate => Basis::Estimate,
            _ => Basis::Exact,
        }
    }
}
