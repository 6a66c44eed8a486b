//! Memory for what cannot fail when the system gives none.

use std::alloc::Layout;
use std::cell::UnsafeCell;
use std::ptr;

use spin::mutex::SpinMutex;

/// Blocks of one piece of memory, one behind the other. It is whole again once all of them have been given back.
#[repr(C, align(64))]
pub(super) struct Reserve<const SIZE: usize> {
    bytes: UnsafeCell<[u8; SIZE]>,
    blocks: SpinMutex<Blocks>,
}

struct Blocks {
    /// Where the next one begins.
    next: usize,
    /// How many are in use.
    used: usize,
}

// SAFETY: the bytes are only reached through the blocks that `take` gives out, each to one caller.
unsafe impl<const SIZE: usize> Sync for Reserve<SIZE> {}

impl<const SIZE: usize> Reserve<SIZE> {
    /// The system gives the memory when it is first written to, but has promised it from the beginning.
    pub(super) const fn new() -> Self {
        Self {
            bytes: UnsafeCell::new([0; SIZE]),
            blocks: SpinMutex::new(Blocks { next: 0, used: 0 }),
        }
    }

    /// A block that nobody else has, with anything in it; null where less than that and `spare` bytes is left.
    pub(super) fn take(&self, layout: Layout, spare: usize) -> *mut u8 {
        let first = self.bytes.get().cast::<u8>();
        let mut blocks = self.blocks.lock();
        let begin = (first.addr() + blocks.next).next_multiple_of(layout.align()) - first.addr();
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

    /// How much is left.
    pub(super) fn room(&self) -> usize {
        SIZE - self.blocks.lock().next
    }

    /// Whether it is a block of this.
    #[inline]
    pub(super) fn contains(&self, start: *mut u8) -> bool {
        start.addr().wrapping_sub(self.bytes.get().addr()) < SIZE
    }

    /// A block is in use no more.
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
        assert!(RESERVE.take(layout(1024, 1), 0).is_null());
        assert!(
            RESERVE.take(layout(500, 1), 600).is_null(),
            "what is spared stays"
        );
        assert!(!RESERVE.contains(first.wrapping_sub(1)));
        assert!(!RESERVE.contains(first.wrapping_add(1024)));
        RESERVE.give_back();
        assert!(RESERVE.take(layout(1024, 1), 0).is_null());
        RESERVE.give_back();
        assert_eq!(RESERVE.room(), 1024);
        assert_eq!(RESERVE.take(layout(1024, 1), 0), first, "whole again");
    }
}
