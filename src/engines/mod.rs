//! How things are measured. `sample` is `cpu=samples`, `alloc` is `heap=sites`, `time` is `cpu=times|old`; `stack` names what the VM shows of a
//! stack, `worker` is a thread of ours inside the VM.

pub mod alloc;
pub mod sample;
pub mod stack;
pub mod time;
mod worker;
