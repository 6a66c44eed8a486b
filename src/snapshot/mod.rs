//! Tables to records, in the order they go out: what a record names is written before it, and once.

mod cpu_samples;
mod journal;
mod numbers;
mod sites;
mod traces;

pub use cpu_samples::{cpu_samples, cpu_samples_so_far};
pub use journal::{Journal, Settings, ThreadNames};
pub use sites::{HeapState, SitesRequest, heap_summary, sites};
pub use traces::traces;
