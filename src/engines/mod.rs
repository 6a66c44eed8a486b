//! How things are measured. `sample` is `cpu=samples`, `time` is `cpu=times|old`, `alloc` is `heap=sites`, `dump` is
//! `heap=dump`, `monitor` is `monitor=y`; `heap` counts, `stack` names what the VM shows of a stack, `worker` is a thread
//! of ours inside the VM.

pub mod alloc;
pub mod dump;
pub mod heap;
pub mod monitor;
pub mod sample;
pub mod stack;
pub mod time;
mod worker;
