//! Tables to records, in the order they go out: what a record names is written before it, and once.

mod cpu_samples;
mod cpu_times;
mod journal;
mod numbers;
mod sites;

pub use cpu_samples::cpu_samples;
pub use cpu_times::{cpu_times, old_prof};
pub use journal::{Journal, Settings, ThreadNames};
pub use sites::{HeapState, SitesRequest, sites};
