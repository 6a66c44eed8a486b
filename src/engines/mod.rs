//! How things are measured. `sample` is `cpu=samples`, `alloc` is `heap=sites`, `heap` counts; `stack` names what the VM shows of a
//! stack, `worker` is a thread of ours inside the VM.

pub mod alloc;
pub mod heap;
pub mod sample;
pub mod stack;
mod worker;
