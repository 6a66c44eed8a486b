//! The sections on allocations: `sections` writes ALLOC SITES and HEAP SUMMARY, `unseen` counts what was allocated
//! before the agent could see it, `heap_totals` the whole heap where nothing is tracked.

pub(super) mod heap_totals;
mod sections;
mod unseen;

pub use sections::SitesRequest;
pub(super) use sections::{HeapState, heap_summary, sites};
pub(super) use unseen::ReportedUnseen;
