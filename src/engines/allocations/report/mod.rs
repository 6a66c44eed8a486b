//! The sections on allocations: `sections` writes ALLOC SITES and HEAP SUMMARY, `lifetimes` SITE LIFETIMES, `course` LIVE
//! COURSE; `precision` says what their numbers leave open. `unseen` counts what was allocated before the agent could see
//! it, `heap_totals` the whole heap where nothing is tracked.

mod course;
pub(super) mod heap_totals;
mod lifetimes;
mod precision;
mod sections;
mod unseen;

pub(super) use course::course;
pub(super) use lifetimes::lifetimes;
pub(super) use precision::{Precision, precision};
pub use sections::SitesRequest;
pub(super) use sections::{HeapState, Unseen, heap_summary, sites};
pub(super) use unseen::ReportedUnseen;
