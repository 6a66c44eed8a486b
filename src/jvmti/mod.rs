//! The only door to the JVM: everything unsafe stays in here.
//!
//! `sys` is `jvmti.h`; `env` and `jni` make its functions safe (memory is freed on drop, an error is a value that names
//! the function); `callbacks` receives the VM's events, and `gate` hands them to the [`Events`] of the round that
//! runs, which `session` begins and ends; `agent_thread` runs our own code on a Java thread. Calls go up only through [`Events`].

#![allow(unsafe_code)]

mod agent_thread;
mod callbacks;
mod classes;
mod clock;
mod env;
mod environments;
mod error;
mod fields;
mod gate;
mod heap;
mod heap_walk;
mod hooks;
mod hotspot;
mod jni;
mod monitor_callbacks;
mod monitors;
mod object_list;
mod own_memory;
mod session;
mod sys;
mod virtual_threads;

pub use agent_thread::AgentThreads;
pub use callbacks::{Allocation, Event, Events};
pub use classes::ClassFile;
pub use clock::{ThreadCpuClock, TickClock, TickLength, TickStart, own_cpu_time, own_stack};
pub use env::{Capability, Env, Frame, Method};
pub use environments::OwnEnv;
pub use error::JvmtiError;
pub use fields::{ClassFields, ClassState, FieldValue, Primitive};
pub use heap::Interval;
pub use heap_walk::{
    HeapVisitor, Place, PrimitiveField, Referee, Reference, Referrer, RootReference, Tags, Visit,
    WantedValues,
};
pub use hooks::{CallHooks, HOOK_CLASS, HOOK_ENTERED, HOOK_LEFT, HOOK_UNWOUND, define_hooks};
pub use hotspot::{Countdowns, VmDumper, VmFlags};
pub use jni::{Global, Jni, Local, Object, ObjectRef, Vm, Weak};

pub use monitors::{MonitorUsage, ThreadState};
pub use object_list::ObjectList;
pub use own_memory::{own_memory, return_free_memory};
pub use session::Rounds;
pub use sys::{JNI_ERR, JNI_OK, JavaVM};
pub use virtual_threads::VirtualThreads;
