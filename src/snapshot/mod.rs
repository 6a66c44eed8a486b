//! Tables to records, in the order they go out: what a record names is written before it, and once.

mod cpu_samples;
mod cpu_times;
mod heap_dump;
mod journal;
mod monitors;
mod numbers;
mod sites;
mod traces;

pub use cpu_samples::{cpu_samples, cpu_samples_so_far};
pub use cpu_times::{cpu_times, old_prof};
pub use heap_dump::heap_dump;
pub use journal::{Journal, Settings, ThreadNames};
pub use monitors::{monitor_dump, monitor_time, waited, waiting};
pub use sites::{HeapState, SitesRequest, heap_summary, sites};
pub use traces::traces;
