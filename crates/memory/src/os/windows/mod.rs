//! Windows.
//!
//! The C library of Windows and the standard library allocate the variables of `thread_local!` in ways that end the process if
//! there is no memory for them; here nothing is done about that.

pub(super) mod key;
pub(super) mod system_thread;

use std::ptr;

use windows_sys::Win32::System::Memory::{
    MEM_COMMIT, MEM_RELEASE, MEM_RESERVE, PAGE_READWRITE, VirtualAlloc, VirtualFree,
};
use windows_sys::Win32::System::Threading::{GetCurrentThreadId, Sleep};

/// The pause between two attempts to get memory from the system again, in milliseconds.
const PAUSE: u32 = 10;

/// Maps memory of zeros; null if the system refuses.
pub(crate) fn map(size: usize) -> *mut u8 {
    let how = MEM_RESERVE | MEM_COMMIT;
    // SAFETY: new memory at an address of the system's choice.
    unsafe { VirtualAlloc(ptr::null(), size, how, PAGE_READWRITE) }.cast()
}

/// Returns null: memory cannot get another size here.
///
/// # Safety
/// None is needed; that of other systems has conditions.
pub(crate) unsafe fn resize(_block: *mut u8, _old: usize, _new: usize) -> *mut u8 {
    ptr::null_mut()
}

/// Returns memory to the system.
///
/// # Safety
/// The block is from [`map`], and nobody uses it.
pub(crate) unsafe fn unmap(block: *mut u8, _size: usize) {
    // SAFETY: the caller's promise; the whole of it is released, which needs the size 0.
    unsafe { VirtualFree(block.cast(), 0, MEM_RELEASE) };
}

/// Returns `false`: what the system does to memory that is discarded is undefined here.
///
/// # Safety
/// None is needed; that of other systems has conditions.
pub(crate) unsafe fn discard(_block: *mut u8, _size: usize) -> bool {
    false
}

/// Returns what distinguishes the current thread from others; never 0.
#[inline]
pub(crate) fn current_thread() -> usize {
    // SAFETY: takes nothing, cannot fail.
    unsafe { GetCurrentThreadId() as usize }
}

/// Waits before memory is requested from the system again.
pub(crate) fn pause() {
    // SAFETY: takes a number.
    unsafe { Sleep(PAUSE) };
}

/// Does nothing: the heap of Windows returns memory on its own.
pub fn return_free_memory() {}
