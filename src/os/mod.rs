//! What the agent needs of an operating system besides what `jvmti`, `memory` and `output` take from it. This folder chooses
//! between the systems, and nothing else of the agent does.

#[cfg(unix)]
mod linux;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use linux as system;
#[cfg(windows)]
use windows as system;

pub(crate) use system::activity::{CpuShare, SystemState};
pub(crate) use system::descriptors;
pub(crate) use system::options;
pub(crate) use system::{
    FileId, OPEN_FILES_KEEP_THEIR_NAMES, PrivateFolder, TELLS_OF_MEMORY, arguments, c_path,
    fill_with_random_bytes, free_space, id_of_file, open_for_reply, open_without_waiting,
    page_size, process_is_there, read_exact_at,
};

/// What a thread does that the VM says is runnable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Activity {
    /// It is on a CPU.
    Running,
    /// It could run, but no CPU is free for it.
    Runnable,
    /// It waits for something that the VM does not know of, or for the VM.
    Waiting,
}
