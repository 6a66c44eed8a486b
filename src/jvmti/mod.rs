//! The only door to the JVM: everything unsafe stays in here.
//!
//! `sys` is `jvmti.h`; `env` and `jni` make its functions safe (memory is freed on drop, an error is a value that names
//! the function); `callbacks` receives the VM's events, and `door` hands them to the one [`Events`] that was installed;
//! `agent_thread` runs our own code on a Java thread. Calls go up only through [`Events`].

#![allow(unsafe_code)]

mod agent_thread;
mod callbacks;
mod classes;
mod clock;
mod door;
mod env;
mod error;
mod flags;
mod heap;
mod hooks;
mod jni;
mod sys;
mod virtual_threads;

pub use agent_thread::AgentThreads;
pub use callbacks::{Allocation, Event, Events};
pub use classes::ClassFile;
pub use clock::{ThreadCpuClock, TickClock, TickLength, TickStart, own_cpu_time, own_stack};
pub use door::Door;
pub use env::{Capability, Env, Frame, Method};
pub use error::JvmtiError;
pub use flags::VmFlags;
pub use heap::Interval;
pub use hooks::{CallHooks, HOOK_CLASS, HOOK_ENTERED, HOOK_LEFT, HOOK_UNWOUND, define_hooks};
pub use jni::{Global, Jni, Local, Object, ObjectRef, Vm, Weak};
pub use sys::{JNI_ERR, JNI_OK, JavaVM};
pub use virtual_threads::VirtualThreads;
