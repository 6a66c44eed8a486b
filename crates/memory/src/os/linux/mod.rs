//! Linux.

pub(super) mod key;
pub(super) mod system_thread;
mod thread_local;

use std::ptr;

/// The pause between two attempts to get memory from the system again.
const PAUSE: libc::timespec = libc::timespec {
    tv_sec: 0,
    tv_nsec: 10_000_000,
};

/// Maps memory of zeros; null if the system refuses.
pub(crate) fn map(size: usize) -> *mut u8 {
    // SAFETY: a new private mapping at an address of the system's choice.
    let block = unsafe {
        libc::mmap(
            ptr::null_mut(),
            size,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    or_null(block)
}

/// Gives a mapping another size, in another place if need be; null, and it stays as it was, if the system refuses.
///
/// # Safety
/// The block is from [`map`] or this function, has the old size, and nobody else uses it.
pub(crate) unsafe fn resize(block: *mut u8, old: usize, new: usize) -> *mut u8 {
    // SAFETY: the caller's promise; the system moves the mapping with its contents.
    or_null(unsafe { libc::mremap(block.cast(), old, new, libc::MREMAP_MAYMOVE) })
}

/// Returns a mapping to the system.
///
/// # Safety
/// The block is from [`map`] or [`resize`], has this size, and nobody uses it.
pub(crate) unsafe fn unmap(block: *mut u8, size: usize) {
    // SAFETY: the caller's promise. If it fails, which it can where the process has as many mappings as it may and the system
    // has made one of this block and its neighbours, the memory is lost until the process ends.
    unsafe { libc::munmap(block.cast(), size) };
}

/// Gives the contents of a mapping back to the system: from now on it is zeros, or on systems that do so only when they need memory
/// what it was. Returns `false` if the system refuses, as for memory that is locked.
///
/// # Safety
/// The block is from [`map`], has this size, and its users expect that.
pub(crate) unsafe fn discard(block: *mut u8, size: usize) -> bool {
    #[cfg(target_os = "macos")]
    const ADVICE: libc::c_int = libc::MADV_FREE;
    #[cfg(not(target_os = "macos"))]
    const ADVICE: libc::c_int = libc::MADV_DONTNEED;
    // SAFETY: the caller's promise.
    unsafe { libc::madvise(block.cast(), size, ADVICE) == 0 }
}

fn or_null(mapped: *mut libc::c_void) -> *mut u8 {
    match mapped == libc::MAP_FAILED {
        true => ptr::null_mut(),
        false => mapped.cast(),
    }
}

/// Returns what distinguishes the current thread from others; never 0.
#[inline]
pub(crate) fn current_thread() -> usize {
    // SAFETY: takes nothing, cannot fail.
    let thread = unsafe { libc::pthread_self() };
    #[allow(
        clippy::cast_possible_truncation,
        reason = "an address has 64 bits, too; musl's is a pointer"
    )]
    let thread = thread as usize;
    thread
}

/// Waits before memory is requested from the system again.
pub(crate) fn pause() {
    // SAFETY: a pointer to a time, and null for the remaining time, which is not needed.
    unsafe { libc::nanosleep(&PAUSE, ptr::null_mut()) };
}

/// Makes the allocator return freed memory to the system. Otherwise it would keep it in the arenas of threads that
/// never need so much again, because the VM's references to objects lie between the agent's blocks.
pub fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: glibc: any thread may call this at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}
