//! The positions of objects' records in the file.

use std::sync::OnceLock;

/// The bytes of records between two remembered positions.
pub(crate) const STRIDE: u64 = 256 * 1024;

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
