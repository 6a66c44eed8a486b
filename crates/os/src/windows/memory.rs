//! Memory.

use windows_sys::Win32::System::SystemInformation::{GlobalMemoryStatusEx, MEMORYSTATUSEX};

/// Returns the memory that this process may take; `None` if the system does not reveal how much is free.
#[must_use]
pub fn available() -> Option<u64> {
    let mut found = MEMORYSTATUSEX {
        dwLength: u32::try_from(size_of::<MEMORYSTATUSEX>()).ok()?,
        ..MEMORYSTATUSEX::default()
    };
    // SAFETY: the place is that of what the call writes, which says its size.
    let known = unsafe { GlobalMemoryStatusEx(&raw mut found) };
    (known != 0).then_some(found.ullAvailPhys.min(found.ullAvailVirtual))
}
