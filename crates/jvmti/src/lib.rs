//! The only interface to the JVM, which contains all unsafe code about it.
//!
//! `sys` is `jvmti.h`; `env` and `jni` make its functions safe (memory is freed on drop, an error is a value that names
//! the function); `callbacks` receives the VM's events and passes them on through [`Events`]; `gate` counts the threads
//! that use a session; `agent_thread` runs the agent's code on Java threads; `hotspot` has everything specific to
//! HotSpot.

#![allow(unsafe_code)]
#![warn(unreachable_pub)]
#![cfg_attr(not(test), warn(clippy::disallowed_types))]

mod agent_thread;
mod boot_classes;
mod call_contexts;
mod callbacks;
mod capabilities;
mod class_loaders;
mod classes;
mod clock;
mod collections;
mod current_thread;
mod direct_buffers;
#[doc(hidden)]
pub mod entry_points;
mod env;
mod environments;
mod error;
mod events;
mod fields;
#[cfg_attr(windows, path = "forked_walk/windows.rs")]
mod forked_walk;
mod gate;
mod heap;
mod heap_walk;
mod hooks;
mod hotspot;
mod java_calls;
mod jni;
mod known_objects;
mod method_ids;
mod monitor_callbacks;
mod monitors;
#[cfg_attr(windows, path = "native_code/windows.rs")]
mod native_code;
mod object_list;
mod object_refs;
mod os;
mod own_objects;
mod own_time;
mod park_blockers;
mod prefetch;
mod prepared_classes;
mod process_exit;
mod registered_threads;
mod session_id;
mod stack_bounds;
mod sys;
mod virtual_threads;
mod vm_call;
mod vm_kind;
mod vm_library;

pub use agent_thread::AgentThreads;
pub use call_contexts::{
    CallContexts, Callee, CellHash, CellLayout, ContextCell, SavedStack, SharedCache,
    forget_call_slots,
};
pub use callbacks::Event;
pub use capabilities::Capability;
pub use clock::{
    RunMark, ThreadCpuClock, TickClock, TickLength, TickStart, cost_clock, current_tid,
    notices_every_run, own_cpu_time, own_stack, process_cpu_time,
};
pub use collections::collection_is_under_way;
pub use current_thread::{CurrentThread, CurrentThreadRef};
pub use direct_buffers::{BufferClasses, BufferFields};
pub use entry_points::Agent;
pub use env::{Env, FrameInfo, MethodId};
pub use environments::OwnEnv;
pub use error::JvmtiError;
pub use events::{Allocation, ClassFile, Events, GcPause, Resource, SessionEvents};
pub use fields::{ClassFields, ClassState, FieldValue, Primitive};
pub use forked_walk::{
    Child, ChildLink, ChildMessage, ForkedVisitor, NoChild, check_heap_is_private,
};
pub use gate::{Closed, Gate, OutsideGate, Panicked, caught};
pub use heap::Interval;
pub use heap_walk::{
    HeapVisitor, PrimitiveField, Referee, Reference, Referrer, RootReference, StackPlace, Tags,
    Visit, WantedValues,
};
pub use hooks::{
    CALL_HOOKS, COUNT_HOOKS, CallHooks, CountHooks, HookClass, define_call_hooks,
    define_count_hooks,
};
pub use hotspot::{
    AllocationSample, BoolFlag, BytesUntilSample, ClassesSeen, Collection, CollectionCount,
    CpuTimerSupport, CpuTimers, FoundMethod, FrameClasses, HeapFill, HeapSize, JavaStack,
    LostAllocations, MemoryLayout, NativeAllocations, NoCpuTimers, NoNativeAllocations, NoStack,
    NumberFlag, ProcessMemory, SampledFrame, SampledStack, SequenceHash, SettableFlags,
    StackSample, StackWalker, SystemThreads, TimedThread, TrackedBlock, VmDumper, VmFlags,
    VmMemory, WalkCache, Walked, WeakSlots, characters,
};
pub use java_calls::ReturnedBytes;
pub use jni::{GlobalRef, Jni, LocalRef, Object, ObjectRef, Vm, WeakObject, WeakRef};
pub use known_objects::{Found, KnownObjects};
pub use monitors::{MonitorUsage, ThreadStack, ThreadStateFlags};
pub use native_code::NativeFunction;
pub use object_list::ObjectList;
pub use object_refs::{BorrowedRef, ObjectRefs};
pub use own_objects::OwnObjects;
pub use park_blockers::ParkBlockers;
pub use prefetch::prefetch;
pub use prepared_classes::PreparedClasses;
pub use process_exit::{ExitCaller, at_process_exit};
pub use registered_threads::{AnnouncedThread, RegisteredThreads};
pub use session_id::SessionId;
pub use stack_bounds::StackBounds;
pub use virtual_threads::VirtualThreads;
