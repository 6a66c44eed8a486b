//! How things are measured. `sample` is `cpu=samples`, `alloc` is `heap=sites`, `monitor` is `monitor=y`; `stack`
//! names what the VM shows of a stack, `worker` is a thread of ours inside the VM.

pub mod alloc;
pub mod monitor;
pub mod sample;
pub mod stack;
mod worker;
