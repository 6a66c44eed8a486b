//! What an account looks at in the memory of the process itself.

use std::ops::Range;

/// The memory of the process that is accounted for.
pub trait Memory {
    /// Returns the word at an address; `None` if it cannot be read.
    fn word(&self, address: usize) -> Option<usize>;
    /// Returns the bytes of pages in a range that are in RAM; what is no longer mapped has none. `is_written` is `true` if the
    /// range is private memory without a file whose user writes before it reads, which is cheaper to count.
    fn resident(&self, range: Range<usize>, is_written: bool) -> u64;
}
