//! The agent's allocator. It counts the bytes it holds, since the agent shares the process with the VM and the
//! program's libraries, and it never fails.

use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::OutOfMemory;
use super::large_blocks;
use super::os;
use super::reserve::Reserve;
use super::set_aside::SetAside;

/// The size of the reserve that serves small needs once the system refuses memory: those of threads that are in an
/// event at that time, and of the end of the session.
const RESERVE: usize = 8 << 20;
/// The part of the reserve that is kept for the thread which ends the session.
const FOR_THE_END: usize = 4 << 20;
/// The memory that the system gets back at the first failure: the VM ends the process when it gets no memory itself.
const HEADROOM: usize = 8 << 20;

/// Bytes that have been allocated and not freed.
static HELD: AtomicUsize = AtomicUsize::new(0);
/// Set when the system has refused memory since the session began.
static OUT: AtomicBool = AtomicBool::new(false);
/// The thread that ends the session, as returned by `os::current_thread`; 0 if there is none.
static ENDING: AtomicUsize = AtomicUsize::new(0);
/// The headroom, and what a session sets aside in addition.
static SET_ASIDE: SetAside = SetAside::new();
/// Part of the library's own data: if there is no memory for it, the library is not loaded.
static IN_RESERVE: Reserve<RESERVE> = Reserve::new();

#[global_allocator]
static COUNTED: Counted = Counted;

/// The system's allocator with a counter. The agent does not allocate for every event, only for things that are new to
/// it, so a single counter suffices.
struct Counted;

/// Returns the number of bytes that the agent holds.
pub fn own_memory() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// Counts memory that does not come from the allocator.
pub(super) fn count(bytes: usize) {
    HELD.fetch_add(bytes, Ordering::Relaxed);
}

/// Undoes [`count`].
pub(super) fn discount(bytes: usize) {
    HELD.fetch_sub(bytes, Ordering::Relaxed);
}

/// Returns how many of these bytes are mappings of their own, and not in `malloc`.
pub fn own_mappings() -> usize {
    large_blocks::mapped()
}

/// Returns `true` if the system has refused memory since [`prepare`].
#[inline]
pub fn is_out() -> bool {
    OUT.load(Ordering::Relaxed)
}

/// Prepares for a session: memory is no longer out, and the headroom is set aside.
pub fn prepare() -> Result<(), OutOfMemory> {
    SET_ASIDE.set(HEADROOM)?;
    ENDING.store(0, Ordering::Relaxed);
    OUT.store(false, Ordering::Relaxed);
    Ok(())
}

/// Sets more aside for what [`lend_reserve`] is for, if the system has twice that: the program must not lack it.
pub fn set_more_aside(bytes: usize) {
    if system_has(bytes.saturating_mul(2)) {
        SET_ASIDE.add(bytes);
    }
}

/// Gives what is set aside back to the system for what is about to be done, until [`restore_reserve`]. The agent's
/// allocations and those of the VM get it.
pub fn lend_reserve() {
    SET_ASIDE.lend();
}

/// Sets aside again what was lent, if the system still has it.
pub fn restore_reserve() {
    os::return_free_memory();
    SET_ASIDE.restore();
}

/// Releases what is set aside, because there is no session any more.
pub fn put_reserve_away() {
    SET_ASIDE.release();
}

/// Marks the current thread as the one that ends the session, which may use the last of the reserve.
pub fn ends_session() {
    ENDING.store(os::current_thread(), Ordering::Relaxed);
}

/// Returns `true` if the system has `bytes` more bytes, for the agent or for the VM.
pub fn system_has(bytes: usize) -> bool {
    let Ok(layout) = Layout::from_size_align(bytes.max(1), 1) else {
        return false;
    };
    // SAFETY: the layout has a size, and the block is freed by it. The optimizer must not see that nobody uses it.
    unsafe {
        let block = std::hint::black_box(system_alloc(layout));
        if block.is_null() {
            return false;
        }
        system_dealloc(block, layout);
    }
    true
}

/// Returns `true` if the current thread ends the session and the reserve has twice `bytes` for it: the rest is for its
/// other needs.
pub(super) fn end_has(bytes: usize) -> bool {
    ENDING.load(Ordering::Relaxed) == os::current_thread() && IN_RESERVE.room() / 2 >= bytes
}

/// Marks memory as out. Allocates nothing, and holds a lock for a moment only.
pub(super) fn system_refused() {
    OUT.store(true, Ordering::Relaxed);
    put_reserve_away();
}

/// Allocates from the reserve. If even that is used up, the thread waits: the session is being ended, which frees
/// memory.
#[cold]
fn without_the_system(layout: Layout) -> *mut u8 {
    system_refused();
    loop {
        let ending = ENDING.load(Ordering::Relaxed);
        let spare = match ending == 0 || ending == os::current_thread() {
            true => 0,
            false => FOR_THE_END,
        };
        let block = IN_RESERVE.take(layout, spare);
        if !block.is_null() {
            return block;
        }
        // SAFETY: the caller of the allocator has promised that the layout has a size.
        let block = unsafe { system_alloc(layout) };
        if !block.is_null() {
            return block;
        }
        os::pause();
    }
}

/// Allocates from the system: small blocks by its allocator, large ones by a mapping each. Null if it refuses.
///
/// # Safety
/// As [`GlobalAlloc::alloc`].
#[inline]
unsafe fn system_alloc(layout: Layout) -> *mut u8 {
    match large_blocks::is_large(layout) {
        true => large_blocks::map(layout.size()),
        // SAFETY: the caller's promise.
        false => unsafe { System.alloc(layout) },
    }
}

/// Frees a block of [`system_alloc`].
///
/// # Safety
/// As [`GlobalAlloc::dealloc`].
#[inline]
unsafe fn system_dealloc(start: *mut u8, layout: Layout) {
    // SAFETY: the caller's promise; a block is mapped if its layout is large, wherever it was made.
    unsafe {
        match large_blocks::is_large(layout) {
            true => large_blocks::unmap(start, layout.size()),
            false => System.dealloc(start, layout),
        }
    }
}

// SAFETY: blocks are those of the system's allocator, mappings, or of the reserve, which gives each to one caller, as large
// and as aligned as the layout says. They go back to where they came from, which their address and layout tell. Nothing here
// panics, and counting does not allocate.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        // SAFETY: the caller's promises are those of the system's allocator.
        let block = unsafe { system_alloc(layout) };
        if block.is_null() {
            return without_the_system(layout);
        }
        block
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
        let block = match large_blocks::is_large(layout) {
            // A new mapping is zero.
            true => large_blocks::map(layout.size()),
            // SAFETY: as above.
            false => unsafe { System.alloc_zeroed(layout) },
        };
        if block.is_null() {
            let block = without_the_system(layout);
            // SAFETY: the block is so large and nobody else's.
            unsafe { block.write_bytes(0, layout.size()) };
            return block;
        }
        block
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        if IN_RESERVE.contains(start) {
            return IN_RESERVE.give_back();
        }
        // SAFETY: as above, and what is not in the reserve is from `system_alloc` or was resized to this layout.
        unsafe { system_dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller promises that the new size does not overflow with this alignment.
        let new = unsafe { Layout::from_size_align_unchecked(size, layout.align()) };
        if !IN_RESERVE.contains(start) {
            let moved = match (large_blocks::is_large(layout), large_blocks::is_large(new)) {
                // SAFETY: as above.
                (false, false) => unsafe { System.realloc(start, layout, size) },
                // SAFETY: a large block outside the reserve is a mapping of its size.
                (true, true) => unsafe { large_blocks::resize(start, layout.size(), size) },
                _ => ptr::null_mut(),
            };
            if !moved.is_null() {
                HELD.fetch_add(size, Ordering::Relaxed);
                HELD.fetch_sub(layout.size(), Ordering::Relaxed);
                return moved;
            }
        }
        // SAFETY: the new size is not 0 by the caller's promise; both blocks are as large as what is copied, and the
        // new one is nobody else's.
        unsafe {
            let moved = self.alloc(new);
            ptr::copy_nonoverlapping(start, moved, layout.size().min(size));
            self.dealloc(start, layout);
            moved
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Mapped, OrStop};
    use std::sync::atomic::AtomicU8;

    #[test]
    fn what_is_allocated_counts_until_it_is_freed() {
        const SIZE: usize = 1 << 30;
        let before = own_memory();
        // Other tests allocate at the same time, but not as much.
        let mut block = Vec::<u8>::with_capacity(SIZE);
        assert!(own_memory().abs_diff(before + SIZE) < SIZE / 4);
        block.reserve_exact(2 * SIZE);
        assert!(own_memory().abs_diff(before + 2 * SIZE) < SIZE / 4);
        drop(block);
        assert!(own_memory().abs_diff(before) < SIZE / 4);
        for is_discarded in [false, true] {
            let mapped = Mapped::<AtomicU8>::zeroed(SIZE).or_stop();
            assert!(own_memory().abs_diff(before + SIZE) < SIZE / 4);
            if is_discarded && cfg!(target_os = "linux") {
                mapped.discard();
                mapped.discard();
                assert!(own_memory().abs_diff(before) < SIZE / 4);
            }
            drop(mapped);
            assert!(own_memory().abs_diff(before) < SIZE / 4);
        }
    }

    #[test]
    fn blocks_keep_their_contents_when_they_become_large_and_small_again() {
        let numbers = |length: u32| (0..length).collect::<Vec<u32>>();
        let mut block = numbers(1_000);
        let mut length = 1_000;
        // From 4 KB to 4 MB: within the system's allocator, into a mapping, and from mapping to mapping.
        while length < 1 << 20 {
            block.reserve_exact(length as usize);
            block.extend(length..2 * length);
            length *= 2;
        }
        assert_eq!(block, numbers(length));
        for length in [1 << 19, 1 << 16, 1 << 10] {
            block.truncate(length as usize);
            block.shrink_to_fit();
            assert_eq!(block, numbers(length));
        }
        assert!(vec![0_u64; 1 << 20].iter().all(|&zero| zero == 0));
    }
}
