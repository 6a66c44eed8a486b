//! Everything specific to HotSpot: the VM's flags and structures, its allocation sampling counters, its heap dumper,
//! its stacks as a walk or a signal handler sees them, the slots of its references.

mod bytes_until_sample;
mod class_addresses;
mod code_heap;
mod collection_count;
#[cfg_attr(windows, path = "cpu_timers/windows.rs")]
mod cpu_timers;
#[cfg(unix)]
mod fault_guard;
mod flags;
mod frame_classes;
mod heap_dumper;
mod heap_size;
mod memory_layout;
mod memory_tracking;
#[cfg_attr(windows, path = "native_allocations/windows.rs")]
mod native_allocations;
#[cfg(unix)]
mod sample_ring;
mod stack_walk;
mod thread_layout;
mod vm_memory;
mod weak_slots;

pub use bytes_until_sample::BytesUntilSample;
pub use collection_count::CollectionCount;
pub use cpu_timers::{
    CpuTimerSupport, CpuTimers, NoCpuTimers, NoStack, SampledFrame, SampledStack, StackSample,
    TimedThread,
};
pub use flags::{BoolFlag, NumberFlag, SettableFlags, VmFlags};
pub use frame_classes::{ClassesSeen, FoundMethod, FrameClasses};
pub use heap_dumper::{VmDumper, characters};
pub use heap_size::{HeapFill, HeapSize};
pub use memory_layout::{JavaStack, MemoryLayout, ProcessMemory};
pub use native_allocations::{
    AllocationSample, LostAllocations, NativeAllocations, NoNativeAllocations, TrackedBlock,
};
pub use stack_walk::{SequenceHash, StackWalker, WalkCache, Walked};
pub use thread_layout::SystemThreads;
pub use vm_memory::VmMemory;
pub use weak_slots::{Collection, WeakSlots};
