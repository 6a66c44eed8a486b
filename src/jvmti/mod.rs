//! The only door to the JVM: everything unsafe stays in here.
//!
//! `sys` is `jvmti.h`; `env` and `jni` make its functions safe (memory is freed on drop, an error is a value that names
//! the function); `callbacks` receives the VM's events and hands them up, only through [`Events`]; `gate` counts
//! who is inside of what a session owns; `agent_thread` runs our own code on a Java thread; `hotspot` is what is HotSpot's
//! and not JVMTI's.

#![allow(unsafe_code)]

mod agent_thread;
mod callbacks;
mod classes;
mod clock;
mod collections;
mod env;
mod environments;
mod error;
mod events;
mod fields;
mod gate;
mod heap;
mod heap_walk;
mod hooks;
mod hotspot;
mod java_calls;
mod jni;
mod method_ids;
mod monitor_callbacks;
mod monitors;
mod object_list;
mod own_memory;
mod own_objects;
mod prefetch;
mod registered_threads;
mod session_id;
mod sys;
mod thread_storage;
mod virtual_threads;

pub use agent_thread::AgentThreads;
pub use callbacks::Event;
pub use clock::{ThreadCpuClock, TickClock, TickLength, TickStart, own_cpu_time, own_stack};
pub use collections::Collection;
pub use env::{Capability, Env, FrameInfo, MethodId};
pub use environments::OwnEnv;
pub use error::JvmtiError;
pub use events::{Allocation, ClassFile, Events, GcPause};
pub use fields::{ClassFields, ClassState, FieldValue, Primitive};
pub use gate::{Closed, Gate, Panicked, caught};
pub use heap::Interval;
pub use heap_walk::{
    HeapVisitor, PrimitiveField, Referee, Reference, Referrer, RootReference, StackPlace, Tags,
    Visit, WantedValues,
};
pub use hooks::{
    CallHooks, HOOK_CLASS, HOOK_EXCEPTION_EXIT, HOOK_METHOD_ENTRY, HOOK_METHOD_EXIT, define_hooks,
};
pub use hotspot::{
    BoolFlag, BytesUntilSample, CpuTimerSupport, CpuTimers, NoCpuTimers, NumberFlag, SampledStack,
    SequenceHash, StackSample, StackWalker, TimedThread, VmDumper, VmFlags, WalkCache, Walked,
    WeakSlots, characters, current_tid,
};
pub use jni::{GlobalRef, Jni, LocalRef, Object, ObjectRef, Vm, WeakRef};

pub use monitors::{MonitorUsage, ThreadStack, ThreadStateFlags};
pub use object_list::ObjectList;
pub use own_memory::{own_memory, return_free_memory};
pub use own_objects::OwnObjects;
pub use prefetch::prefetch;
pub use registered_threads::RegisteredThreads;
pub use session_id::SessionId;
pub use sys::{JNI_ERR, JNI_OK, JavaVM};
pub use virtual_threads::VirtualThreads;
