//! The only door to the JVM: everything unsafe stays in here.
//!
//! `sys` is `jvmti.h`; `env` and `jni` make its functions safe (memory is freed on drop, an error is a value that names
//! the function); `callbacks` receives the VM's events, and `door` hands them to the [`Events`] of the round that
//! runs, which `round` begins and ends; `agent_thread` runs our own code on a Java thread. Calls go up only through [`Events`].

#![allow(unsafe_code)]

mod agent_thread;
mod callbacks;
mod countdown;
mod door;
mod env;
mod error;
mod flags;
mod heap;
mod jni;
mod round;
mod sys;
mod virtual_threads;

pub use agent_thread::AgentThreads;
pub use callbacks::{Allocation, Event, Events};
pub use countdown::Countdowns;
pub use env::{Capability, Env, Frame, Method, OwnEnv};
pub use error::JvmtiError;
pub use flags::VmFlags;
pub use heap::Interval;
pub use jni::{Global, Jni, Local, Object, ObjectRef, Vm, Weak};
pub use round::Rounds;
pub use sys::{JNI_ERR, JNI_OK, JavaVM};
pub use virtual_threads::VirtualThreads;
