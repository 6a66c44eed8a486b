//! This process.

use windows_sys::Win32::Foundation::{CloseHandle, WAIT_OBJECT_0};
use windows_sys::Win32::Storage::FileSystem::WriteFile;
use windows_sys::Win32::System::Console::{GetStdHandle, STD_ERROR_HANDLE};
use windows_sys::Win32::System::Threading::{
    GetCurrentProcess, OpenProcess, PROCESS_SYNCHRONIZE, TerminateProcess, WaitForSingleObject,
};

/// The system's allocator does not keep large blocks.
pub fn map_large_blocks() {}

/// Writes a line to the standard error, and ends the process with status 1. It takes neither memory nor locks, and runs no
/// handlers, which might.
pub fn end_with(line: &[u8]) -> ! {
    let length = u32::try_from(line.len()).unwrap_or_default();
    let mut written = 0;
    // SAFETY: pointer and length are those of bytes that outlive the call, and the place is that of a number.
    unsafe {
        WriteFile(
            GetStdHandle(STD_ERROR_HANDLE),
            line.as_ptr(),
            length,
            &raw mut written,
            std::ptr::null_mut(),
        );
        TerminateProcess(GetCurrentProcess(), 1);
    }
    std::process::abort()
}

/// Returns `true` if there is a process of this number.
#[must_use]
pub fn is_there(number: u32) -> bool {
    // SAFETY: takes numbers; the handle is closed once, after it was used.
    unsafe {
        let process = OpenProcess(PROCESS_SYNCHRONIZE, 0, number);
        if process.is_null() {
            return false;
        }
        let has_ended = WaitForSingleObject(process, 0) == WAIT_OBJECT_0;
        CloseHandle(process);
        !has_ended
    }
}
