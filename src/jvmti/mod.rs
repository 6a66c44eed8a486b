//! The only door to the JVM: everything unsafe stays in here.
//!
//! `sys` is `jvmti.h`; `env` and `jni` make its functions safe (memory is freed on drop, an error is a value that names
//! the function); `callbacks` receives the VM's events and hands them to the one [`Events`] that was installed;
//! `agent_thread` runs our own code on a Java thread. Calls go up only through [`Events`].

#![allow(unsafe_code)]

mod agent_thread;
mod callbacks;
mod env;
mod error;
mod jni;
mod sys;
mod virtual_threads;

pub use agent_thread::AgentThreads;
pub use callbacks::{Door, Event, Events};
pub use env::{Capability, Env, Frame, Method};
pub use error::JvmtiError;
pub use jni::{Global, Jni, Local, Object, Vm, Weak};
pub use sys::{JNI_ERR, JNI_OK, JavaVM};
pub use virtual_threads::VirtualThreads;
