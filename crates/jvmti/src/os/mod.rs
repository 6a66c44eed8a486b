//! What the agent needs of an operating system to know a VM: its libraries, clocks, values of threads, memory that may go away.
//! This folder chooses between the systems; what only Linux has is left out elsewhere by the name of its module
//! (`hotspot/mod.rs`, `lib.rs`).

#[cfg(unix)]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use linux as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::IS_TESTED_HERE;
pub(crate) use system::clock;
pub(crate) use system::key;
pub(crate) use system::library::{Library, base_of};
#[cfg(windows)]
pub(crate) use system::other_thread;
pub(crate) use system::pages::{Pages, map_pages};
pub(crate) use system::peek::Peek;
pub(crate) use system::process_exit;
