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

    /// Returns the word at an address; `None` if there is no memory. If the memory has been reused, the word is
    /// whatever is there now.
    pub(crate) fn word(&self, address: usize) -> Option<usize> {
        let mut word = 0_usize;
        let mut read = 0;
        let from = ptr::without_provenance(address);
        let length = size_of::<usize>();
        // SAFETY: the system reads the memory, and answers 0 if it cannot; the other addresses are those of words.
        let succeeded = unsafe {
            let process = GetCurrentProcess();
            ReadProcessMemory(process, from, (&raw mut word).cast(), length, &mut read)
        };
        (succeeded != 0 && read == length).then_some(word)
    }
}
