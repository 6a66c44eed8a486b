//! Tables to records, in the order they go out: what a record names is written before it, and once.

mod cpu_samples;
mod journal;
mod monitors;
mod numbers;
mod sites;

pub use cpu_samples::cpu_samples;
pub use journal::{Journal, Settings, ThreadNames};
pub use monitors::{monitor_dump, monitor_time, waited, waiting};
pub use sites::{HeapState, SitesRequest, sites};
