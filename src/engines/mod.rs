//! One folder per measurement: `cpu_samples` is `cpu=samples`, `cpu_times` is `cpu=times|old`, `allocations` is `heap=sites`,
//! `heap_dump` is `heap=dump`, `monitors` is `monitor=y`. Each holds the engine, its counters and the records it reports.
//! `heap` counts the heap, `worker` is an agent thread inside the VM.

pub mod allocations;
pub mod cpu_samples;
pub mod cpu_times;
pub mod heap;
pub mod heap_dump;
pub mod monitors;
mod worker;
