//! Linux and macOS. What differs between the two is in a module of each.

pub mod files;
pub mod folders;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod macos;
pub mod mapping;
pub mod memory;
pub mod private_file;
pub mod process;
pub mod signals;
pub mod sockets;
pub mod terminal;

#[cfg(target_os = "linux")]
use linux as own;
#[cfg(not(target_os = "linux"))]
use macos as own;
