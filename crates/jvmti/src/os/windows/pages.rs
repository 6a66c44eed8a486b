//! Pages of memory, and those of the process that are in RAM.

use std::ops::Range;
use std::ptr::{self, NonNull};

use hprof_footprint::{Contents, Resident};

use windows_sys::Win32::System::Memory::{MEM_COMMIT, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc};

/// Maps pages of zeros, which take up RAM once they are used; `None` if the system refuses.
pub(crate) fn map_pages(size: usize) -> Option<NonNull<u8>> {
    // SAFETY: new memory at an address of the system's choice.
    let pages =
        unsafe { VirtualAlloc(ptr::null(), size, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE) };
    NonNull::new(pages.cast())
}

/// Tells nothing yet.
pub(crate) struct Pages;

impl Pages {
    pub(crate) fn new() -> Self {
        Self
    }

    /// Returns 0: no account of the memory is taken on Windows.
    pub(crate) fn resident(&self, _: Range<usize>, _: Contents) -> Resident {
        Resident::default()
    }

    /// Returns `None`, for the same reason.
    pub(crate) fn all_resident(&self) -> Option<u64> {
        None
    }
}
