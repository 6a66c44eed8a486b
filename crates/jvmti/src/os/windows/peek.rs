//! Reads memory that may be freed at any time: that of a thread which may be ending.

use std::io;
use std::ptr;

use windows_sys::Win32::System::Diagnostics::Debug::ReadProcessMemory;
use windows_sys::Win32::System::Threading::GetCurrentProcess;

/// Reads single words through the system, which reports an error if there is no memory.
pub(crate) struct Peek;

impl Peek {
    /// Succeeds: nothing is needed.
    pub(crate) fn new() -> io::Result<Self> {
        Ok(Self)
    }

    /// Copies memory; returns `false` if some of it is not there.
    ///
    /// # Safety
    /// So many bytes can be written at `to`, and nobody else uses them.
    pub(crate) unsafe fn copy(&self, from: usize, to: *mut u8, length: usize) -> bool {
        let mut read = 0;
        // SAFETY: the system reads the memory, and answers 0 if it cannot; the caller's promise for the rest.
        let succeeded = unsafe {
            let process = GetCurrentProcess();
            let from = ptr::without_provenance(from);
            ReadProcessMemory(process, from, to.cast(), length, &mut read)
        };
        succeeded != 0 && read == length
    }

    /// Returns the word at an address; `None` if there is no memory. If the memory has been reused, the word is
    /// whatever is there now.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        let mut word = 0_usize;
        // SAFETY: the word is this function's.
        let is_there = unsafe { self.copy(address, (&raw mut word).cast(), size_of::<usize>()) };
        is_there.then_some(word)
    }
}
