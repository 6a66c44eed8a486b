//! Frames of native code are not taken on Windows.

use super::walk::Walk;
use super::{Interrupted, Place};

impl Walk<'_> {
    /// Notes nothing.
    pub(super) fn begin_native(&mut self, _here: Interrupted, _end: usize) -> usize {
        0
    }

    /// Notes nothing.
    pub(super) fn note_callers_of_java(&mut self, _entry: Place, _end: usize) {}
}
