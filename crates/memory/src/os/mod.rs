//! What the agent's memory needs of an operating system: memory for large blocks, values of threads, threads. This folder chooses
//! between the systems, and nothing else here does.

#[cfg(unix)]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use linux as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::key::Key;
pub(crate) use system::{current_thread, map, pause, resize, unmap};

pub use system::return_free_memory;
pub use system::system_thread::SystemThread;
