//! What the agent itself holds in memory, counted: the VM and the libraries of the program share the process with it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Bytes that have been allocated here and not been freed.
static HELD: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static COUNTED: Counted = Counted;

/// The system's allocator. The agent allocates for what it meets anew, not for every event, so one counter does.
struct Counted;

/// How many bytes of memory the agent holds.
pub fn own_memory() -> usize {
    HELD.load(Ordering::Relaxed)
}

/// Has the allocator give the system what has been freed. It keeps that otherwise, in the arenas of threads that will never
/// need so much again: the VM's references to objects lie between ours.
pub fn return_free_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: glibc: any thread may call this at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

// SAFETY: every call goes on to the system's allocator, with what it was made with, and that one's answer is ours; counting
// neither allocates nor panics.
unsafe impl GlobalAlloc for Counted {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller's promises are those of the system's allocator.
        counted(layout, unsafe { System.alloc(layout) })
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        counted(layout, unsafe { System.alloc_zeroed(layout) })
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        // SAFETY: as above.
        unsafe { System.dealloc(start, layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above.
        let moved = unsafe { System.realloc(start, layout, size) };
        if !moved.is_null() {
            HELD.fetch_add(size, Ordering::Relaxed);
            HELD.fetch_sub(layout.size(), Ordering::Relaxed);
        }
        moved
    }
}

fn counted(layout: Layout, start: *mut u8) -> *mut u8 {
    if !start.is_null() {
        HELD.fetch_add(layout.size(), Ordering::Relaxed);
    }
    start
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allocated_counts_until_it_is_freed() {
        const SIZE: usize = 1 << 30;
        let before = own_memory();
        // Other tests allocate meanwhile, but not that much.
        let mut block = Vec::<u8>::with_capacity(SIZE);
        assert!(own_memory().abs_diff(before + SIZE) < SIZE / 4);
        block.reserve_exact(2 * SIZE);
        assert!(own_memory().abs_diff(before + 2 * SIZE) < SIZE / 4);
        drop(block);
        assert!(own_memory().abs_diff(before) < SIZE / 4);
    }
}
