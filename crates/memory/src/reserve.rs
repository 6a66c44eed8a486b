//! Memory for allocations that must not fail when the system has none.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr;

use spin::mutex::SpinMutex;

/// The alignment of every block, which is that of blocks from `malloc`. The standard library asks for the exception of
/// a panic with an alignment of 8, but LLVM's unwinder writes to it with instructions that need 16.
const ALIGNMENT: usize = 16;

/// Consecutive blocks in one area of memory. The area is free again once all of them have been given back.
#[repr(C, align(64))]
pub(super) struct Reserve<const SIZE: usize> {
    bytes: UnsafeCell<[u8; SIZE]>,
    blocks: SpinMutex<Blocks>,
}

struct Blocks {
    /// The offset of the next block.
    next: usize,
    /// The number of blocks in use.
    used: usize,
}

// SAFETY: the bytes are only reached through the blocks that `take` gives out, each to one caller.
unsafe impl<const SIZE: usize> Sync for Reserve<SIZE> {}

impl<const SIZE: usize> Reserve<SIZE> {
    /// Creates an empty reserve. The system supplies the memory when it is first written to, but has promised it from
    /// the beginning.
    pub(super) const fn new() -> Self {
        Self {
            bytes: UnsafeCell::new([0; SIZE]),
            blocks: SpinMutex::new(Blocks { next: 0, used: 0 }),
        }
    }

    /// Takes a block with unspecified contents; null if fewer than its size and `spare` bytes are left.
    pub(super) fn take(&self, layout: Layout, spare: usize) -> *mut u8 {
        let align = layout.align().max(ALIGNMENT);
        let first = self.bytes.get().cast::<u8>();
        let mut blocks = self.blocks.lock();
        let begin = (first.addr() + blocks.next).next_multiple_of(align) - first.addr();
        let end = begin.checked_add(layout.size());
        match end.filter(|&end| end <= SIZE - spare) {
            Some(end) => {
                blocks.next = end;
                blocks.used += 1;
                first.wrapping_add(begin)
            }
            None => ptr::null_mut(),
        }
    }

    /// Returns the number of bytes left.
    pub(super) fn room(&self) -> usize {
        SIZE - self.blocks.lock().next
    }

    /// Returns `true` if `start` is in this reserve.
    #[inline]
    pub(super) fn contains(&self, start: *mut u8) -> bool {
        start.addr().wrapping_sub(self.bytes.get().addr()) < SIZE
    }

    /// Notes that a block is no longer in use.
    pub(super) fn give_back(&self) {
        let mut blocks = self.blocks.lock();
        blocks.used -= 1;
        if blocks.used == 0 {
            blocks.next = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_lie_apart_until_there_is_no_room() {
        static RESERVE: Reserve<1024> = Reserve::new();
        let layout = |size, align| Layout::from_size_align(size, align).expect("a layout");
        let first = RESERVE.take(layout(3, 1), 0);
        let second = RESERVE.take(layout(100, 64), 0);
        assert!(RESERVE.contains(first) && RESERVE.contains(second));
        assert!(second.addr().is_multiple_of(64) && second.addr() >= first.addr() + 3);
        let third = RESERVE.take(layout(3, 1), 0);
        let fourth = RESERVE.take(layout(3, 1), 0);
        assert!(
            third.addr().is_multiple_of(ALIGNMENT) && fourth.addr().is_multiple_of(ALIGNMENT),
            "as from malloc"
        );
        assert!(RESERVE.take(layout(1024, 1), 0).is_null());
        assert!(
            RESERVE.take(layout(500, 1), 600).is_null(),
            "what is spared stays"
        );
        assert!(!RESERVE.contains(first.wrapping_sub(1)));
        assert!(!RESERVE.contains(first.wrapping_add(1024)));
        for _ in 0..3 {
            RESERVE.give_back();
        }
        assert!(RESERVE.take(layout(1024, 1), 0).is_null());
        RESERVE.give_back();
        assert_eq!(RESERVE.room(), 1024);
        assert_eq!(RESERVE.take(layout(1024, 1), 0), first, "whole again");
    }
}
