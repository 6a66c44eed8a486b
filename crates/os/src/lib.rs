//! What the command `hprof` and the crates that it is made of need of an operating system: files and their rights, mappings,
//! memory, sockets, signals and terminals.
//!
//! This crate chooses by `cfg` between the systems, and `main.rs` of the command chooses the commands that a system has; no
//! other file of them does. Each system has the same modules, with the same functions.

#![allow(unsafe_code)]

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

pub mod files;

pub use system::folders;
pub use system::mapping;
pub use system::memory;
pub use system::process;
pub use system::signals;
pub use system::sockets;
pub use system::terminal;
#[cfg(windows)]
pub use system::{pipe, programs, remote_call, slow_send};

/// The name of the system, as its users call it.
pub const NAME: &str = if cfg!(windows) {
    "Windows"
} else if cfg!(target_os = "macos") {
    "macOS"
} else {
    "Linux"
};

/// `true` if there is an agent for the system.
pub const HAS_AGENT: bool = !cfg!(target_os = "macos");
/// The file of the agent.
pub const AGENT_LIBRARY: &str = if cfg!(windows) {
    "hprof.dll"
} else {
    "libhprof.so"
};
/// `true` if a program can be copied with its memory, so that the copy dumps its heap.
pub const FORKS_PROGRAMS: bool = cfg!(target_os = "linux");
