//! What a sample consists of, and why there may be none.

use std::time::Instant;

use super::TrackedBlock;
use crate::hotspot::cpu_timers::SampledStack;
use crate::native_code::NativeFunction;

/// The reason why native allocations cannot be sampled.
#[derive(Debug, thiserror::Error)]
pub enum NoNativeAllocations {
    /// The VM is another one than those that the agent knows, or the system is.
    #[error("{0}")]
    Vm(&'static str),
    /// No library has the function.
    #[error("malloc was not found")]
    NoAllocator,
    /// The system has no memory left.
    #[error("there is no memory for the samples")]
    Memory,
    /// They are being sampled already.
    #[error("an earlier session has not ended")]
    InUse,
}

/// An allocation.
pub struct AllocationSample {
    /// The number of samples begun before.
    pub number: u64,
    /// When the block was allocated.
    pub time: Instant,
    /// The system's id of the thread.
    pub tid: i32,
    /// The function that mapped memory, and the library that has it; `None` for a block of an allocator's.
    pub mapped_by: Option<NativeFunction>,
    /// The size of the block.
    pub bytes: u64,
    /// The number of blocks of this size that it stands for.
    pub stands_for: f64,
    /// `None` if it is not known when the block is freed.
    pub block: Option<TrackedBlock>,
    /// The stack.
    pub stack: SampledStack,
}

/// Samples that were lost because the ring was full.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LostAllocations {
    /// Their number.
    pub samples: u64,
    /// The bytes that they stand for.
    pub bytes: u64,
}
