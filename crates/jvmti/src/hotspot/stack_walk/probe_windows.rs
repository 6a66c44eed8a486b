//! Reads memory that may not be there: a wrong guess is an answer and not a fault. What is read so may be anything.

use super::layout::WORD;
use crate::os::Peek;

/// Reads memory through the system.
pub(super) struct MemoryReader;

impl MemoryReader {
    pub(super) fn new() -> Self {
        Self
    }

    /// Returns the word at an address; `None` if it cannot be read, or is at no word's address. The system is asked even
    /// if the memory is there and stays.
    pub(super) fn word_at(&self, address: usize, _is_kept: bool) -> Option<usize> {
        match address.is_multiple_of(WORD) {
            true => Peek.word(address),
            false => None,
        }
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
}
