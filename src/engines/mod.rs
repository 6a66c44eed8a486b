//! How things are measured. `stack` names what the VM shows of a stack; `sample` is `cpu=samples`.

pub mod sample;
pub mod stack;
