//! What is HotSpot's and not JVMTI's: the VM's flags and structures, its allocation sampling counters, its heap dumper, its
//! stacks.

mod bytes_until_sample;
mod flags;
mod heap_dumper;
mod stack_walk;
mod vm_structs;

pub use bytes_until_sample::BytesUntilSample;
pub use flags::{BoolFlag, NumberFlag, VmFlags};
pub use heap_dumper::{VmDumper, characters};
pub use stack_walk::{StackWalker, WalkCache, Walked};
