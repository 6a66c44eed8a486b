//! Large blocks as mappings of their own, which go back to the system as soon as they are freed.
//!
//! glibc's `malloc` maps large blocks too, but only until the first of them is freed. From then on it takes blocks of that
//! size from the arena of the calling thread and keeps up to twice as much free at its end, which `malloc_trim` does not
//! return: the process would stay larger after a profile, and the program's own large blocks would be treated otherwise
//! than without the agent.

use std::alloc::Layout;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::os;

/// The size from which a block is a mapping of its own; glibc's `M_MMAP_THRESHOLD` has the same value at the start.
const THRESHOLD: usize = 128 << 10;
/// An alignment that every mapping has: that of the smallest page of any supported processor.
pub(super) const PAGE: usize = 4096;

/// The bytes of all blocks that are mapped.
static MAPPED: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes of all blocks that are mapped.
pub(super) fn mapped() -> usize {
    MAPPED.load(Ordering::Relaxed)
}

/// Returns `true` if blocks of this layout are mapped.
#[inline]
pub(super) fn is_large(layout: Layout) -> bool {
    layout.size() >= THRESHOLD && layout.align() <= PAGE
}

/// Maps a block of zeros; null if the system refuses.
pub(super) fn map(size: usize) -> *mut u8 {
    counted(os::map(size), 0, size)
}

/// Gives a block another size, in another place if need be; null, and the block stays as it was, if the system refuses.
///
/// # Safety
/// The block is from [`map`] or this function, has the old size, and nobody else uses it.
pub(super) unsafe fn resize(block: *mut u8, old: usize, new: usize) -> *mut u8 {
    // SAFETY: the caller's promise.
    counted(unsafe { os::resize(block, old, new) }, old, new)
}

/// Returns a block to the system.
///
/// # Safety
/// The block is from [`map`] or [`resize`], has this size, and nobody uses it.
pub(super) unsafe fn unmap(block: *mut u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { os::unmap(block, size) };
    MAPPED.fetch_sub(size, Ordering::Relaxed);
}

/// Gives the memory of a block back to the system, but not its addresses: from now on the block is zeros or what it was, page by
/// page. Returns `false` if the system does not take it.
///
/// # Safety
/// The block is from [`map`], has this size, and whoever uses it expects that.
pub(super) unsafe fn discard(block: *mut u8, size: usize) -> bool {
    // SAFETY: the caller's promise.
    let is_discarded = unsafe { os::discard(block, size) };
    if is_discarded {
        MAPPED.fetch_sub(size, Ordering::Relaxed);
    }
    is_discarded
}

/// As [`unmap`], for a block that has been [discarded](discard).
///
/// # Safety
/// As [`unmap`].
pub(super) unsafe fn unmap_discarded(block: *mut u8, size: usize) {
    // SAFETY: the caller's promise.
    unsafe { os::unmap(block, size) };
}

/// Counts a block that has got another size, unless it is null.
fn counted(block: *mut u8, old: usize, new: usize) -> *mut u8 {
    if !block.is_null() {
        MAPPED.fetch_add(new, Ordering::Relaxed);
        MAPPED.fetch_sub(old, Ordering::Relaxed);
    }
    block
}
