//! The positions of objects' records in the file.

use std::sync::OnceLock;

/// The bytes of the file of which at most one position is remembered.
const STRIDE: u64 = 256 * 1024;

/// The positions of objects' records in the file.
#[derive(Debug, Default)]
pub(crate) struct RecordOffsets {
    /// Ids and offsets of some of them; all others are between the remembered neighbours of their ids.
    pub(crate) samples: Vec<(u64, u64)>,
    /// `true` if that holds.
    pub(crate) ascending: bool,
    /// Otherwise the offset of each by number, determined when first needed.
    pub(crate) exact: OnceLock<Vec<u64>>,
}

impl RecordOffsets {
    /// Remembers the position of an object's record, behind those before, if it is the first in its stride of the file. So
    /// the positions do not depend on the parts in which the file is read.
    #[inline]
    pub(crate) fn sample(&mut self, id: u64, offset: u64) {
        let last = self.samples.last();
        if last.is_none_or(|&(_, last)| last / STRIDE < offset / STRIDE) {
            self.samples.push((id, offset));
        }
    }
}
