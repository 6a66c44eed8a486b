//! The pages of the process that are in RAM.

use std::ops::Range;

/// Tells nothing yet.
pub(crate) struct Pages;

impl Pages {
    pub(crate) fn new() -> Self {
        Self
    }

    /// Returns 0: no account of the memory is taken on Windows.
    pub(crate) fn resident(&self, _: Range<usize>, _is_written: bool) -> u64 {
        0
    }
}
