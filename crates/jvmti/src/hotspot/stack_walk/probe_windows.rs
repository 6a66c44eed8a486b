//! Reads memory that may not be there: a wrong guess is an answer and not a fault. What is read so may be anything.
//!
//! The system copies each page once, which it refuses if there is none; words are read from the copy. So nothing is read that
//! goes away meanwhile. There is room for the pages of one reader; if others read at the same time, they ask for each word.

use std::cell::{Cell, UnsafeCell};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

use super::layout::WORD;
use crate::os::Peek;
use crate::vm_kind::vm_structs::read;

const PAGE: usize = 4096;
/// The pages that a walk keeps.
const KEPT: usize = 64;
/// The most pages, or words, that a reader asks for.
const MOST_TRIALS: u32 = 300;

/// The copies of pages. Nothing can be allocated while a thread is suspended.
struct Copies {
    pages: UnsafeCell<[[u8; PAGE]; KEPT]>,
    is_taken: AtomicBool,
}

// SAFETY: the pages are used by the reader that has set `is_taken`, until it clears that.
unsafe impl Sync for Copies {}

static COPIES: Copies = Copies {
    pages: UnsafeCell::new([[0; PAGE]; KEPT]),
    is_taken: AtomicBool::new(false),
};

/// Reads memory in one walk.
pub(super) struct MemoryReader {
    /// The numbers of the pages that there are copies of, 0 for none; `None` if another reader has them.
    numbers: Option<[Cell<usize>; KEPT]>,
    /// The trials that are left.
    trials: Cell<u32>,
}

impl MemoryReader {
    pub(super) fn new() -> Self {
        let is_taken = COPIES.is_taken.swap(true, Ordering::Acquire);
        Self {
            numbers: (!is_taken).then_some([const { Cell::new(0) }; KEPT]),
            trials: Cell::new(MOST_TRIALS),
        }
    }

    /// Returns `true` if nothing more is tried.
    pub(super) fn is_exhausted(&self) -> bool {
        self.trials.get() == 0
    }

    /// Returns the word at an address; `None` if it cannot be read, or is at no word's address. `is_kept` says that the
    /// memory is there and stays.
    pub(super) fn word_at(&self, address: usize, is_kept: bool) -> Option<usize> {
        if !address.is_multiple_of(WORD) {
            return None;
        }
        if is_kept {
            // SAFETY: the caller's promise.
            return Some(unsafe { read(address) });
        }
        self.copied(address)
    }

    /// As `word_at`, at any address; the word may be on two pages.
    pub(super) fn unaligned_word_at(&self, address: usize, is_kept: bool) -> Option<usize> {
        let after = address % WORD;
        let first = self.word_at(address - after, is_kept)?;
        if after == 0 {
            return Some(first);
        }
        let second = self.word_at((address - after).checked_add(WORD)?, is_kept)?;
        Some(first >> (8 * after) | second << (8 * (WORD - after)))
    }

    /// Returns the number of 16 bits at an address, which is a multiple of two.
    pub(super) fn short_at(&self, address: usize, is_kept: bool) -> Option<u16> {
        let at = address & (WORD - 1);
        let word = self.word_at(address.wrapping_sub(at), is_kept)?;
        Some((word >> (8 * at)) as u16)
    }

    /// Returns the byte at an address.
    pub(super) fn byte_at(&self, address: usize, is_kept: bool) -> Option<u8> {
        let at = address & (WORD - 1);
        let word = self.word_at(address.wrapping_sub(at), is_kept)?;
        Some((word >> (8 * at)) as u8)
    }

    /// Returns the word at an address, which is a multiple of a word, from the copy of its page.
    fn copied(&self, address: usize) -> Option<usize> {
        let page = address / PAGE;
        let Some(numbers) = &self.numbers else {
            self.spend()?;
            return Peek.word(address);
        };
        let place = (page ^ (page / KEPT)) % KEPT;
        let number = numbers.get(place)?;
        let copy = COPIES.pages.get().cast::<[u8; PAGE]>().wrapping_add(place);
        if number.get() != page || page == 0 {
            self.spend()?;
            number.set(0);
            // SAFETY: this reader alone uses the copies.
            if page == 0 || !unsafe { Peek.copy(page * PAGE, copy.cast(), PAGE) } {
                return None;
            }
            number.set(page);
        }
        let word: *const usize = copy.wrapping_byte_add(address % PAGE).cast();
        // SAFETY: the copy was made, and a word at this distance is in it.
        Some(unsafe { ptr::read_unaligned(word) })
    }

    fn spend(&self) -> Option<()> {
        self.trials.set(self.trials.get().checked_sub(1)?);
        Some(())
    }
}

impl Drop for MemoryReader {
    fn drop(&mut self) {
        if self.numbers.is_some() {
            COPIES.is_taken.store(false, Ordering::Release);
        }
    }
}

/// Returns `true`: the system is always asked.
pub(super) fn is_reliable() -> bool {
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a reader that has the copies: other tests read at the same time.
    fn with_copies() -> MemoryReader {
        loop {
            let reader = MemoryReader::new();
            if reader.numbers.is_some() {
                return reader;
            }
            drop(reader);
            std::thread::yield_now();
        }
    }

    #[test]
    fn missing_memory_is_an_answer() {
        let first = with_copies();
        let second = MemoryReader::new();
        assert!(second.numbers.is_none());
        for it in [first, second] {
            check(&it);
        }
    }

    fn check(it: &MemoryReader) {
        let words = [0x0102_0304_0506_0708_usize, 0x1112_1314_1516_1718];
        let there = (&raw const words[0]).expose_provenance();
        assert_eq!(it.word_at(there, false), Some(words[0]));
        assert_eq!(it.word_at(there, true), Some(words[0]));
        assert_eq!(it.word_at(there + 1, false), None, "no word's address");
        assert_eq!(
            it.unaligned_word_at(there + 2, false),
            Some(0x1718_0102_0304_0506)
        );
        assert_eq!(it.short_at(there + 2, false), Some(0x0506));
        assert_eq!(it.byte_at(there + 7, false), Some(1));
        for nowhere in [0, 8, 0x696d_6f74_612f_7470, usize::MAX - 7] {
            assert_eq!(it.word_at(nowhere, false), None, "{nowhere:x}");
        }
        assert_eq!(it.unaligned_word_at(usize::MAX, false), None);
        assert_eq!(it.word_at(there, false), Some(words[0]), "still there");
    }

    #[test]
    fn a_page_is_copied_once_and_not_for_ever() {
        let words = [1_usize];
        let there = (&raw const words[0]).expose_provenance();
        let it = with_copies();
        for _ in 0..1_000 {
            assert_eq!(it.word_at(there, false), Some(1));
        }
        assert_eq!(it.trials.get(), MOST_TRIALS - 1);
        for _ in 0..MOST_TRIALS {
            assert_eq!(it.word_at(0, false), None);
        }
        assert!(it.is_exhausted());
        assert_eq!(it.word_at(there, true), Some(1));
    }
}
