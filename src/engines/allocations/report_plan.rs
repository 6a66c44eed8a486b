//! The options for reports of allocation sites.

use super::report::SitesRequest;
use crate::engines::Totals;
use names::frame::FrameId;

/// The options for reports.
pub(super) struct ReportPlan {
    /// `heap=`: report sites.
    pub(super) sites: bool,
    /// `cutoff=`.
    pub(super) cutoff: f64,
    /// `lifetimes=`: also report how long objects lived.
    pub(super) lifetimes: bool,
    /// `fold=`: the outermost frame of rows in which small rows are added up.
    pub(super) folded: Option<FrameId>,
    /// `sort=`: order sites by allocated bytes instead of live ones.
    pub(super) by_allocation: bool,
    /// `gc=`: collect garbage before live objects are reported.
    pub(super) collect: bool,
    /// `true` if objects that nobody saw being made are counted, by a walk through the heap.
    pub(super) counts_unseen: bool,
    /// `sample=`: the mean number of bytes between two sampled allocations; `None` if all are tracked.
    pub(super) sampled: Option<u32>,
    /// `budget=`: the percentage of the CPU time that tracking may cost.
    pub(super) budget: Option<u8>,
}

impl ReportPlan {
    pub(super) fn request(&self, totals: Totals) -> SitesRequest {
        SitesRequest {
            cutoff: self.cutoff,
            folded: self.folded,
            by_allocation: self.by_allocation,
            incremental: false,
            is_last: totals == Totals::EndPeriod,
        }
    }
}
