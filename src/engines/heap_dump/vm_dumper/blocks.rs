//! Ranges of the dump's heap, for a second look at some of its objects.

use hprof_format::{HeapError, HeapKind, HeapRecords, IdSize};

use super::source::Source;
use crate::engines::heap_dump::DumpError;
use hprof_format::bytes::read_u64_be;

/// Consecutive heap records that were read together.
pub(super) struct HeapBlock {
    pub(super) offset: u64,
    pub(super) length: usize,
    /// The lowest and the highest id of their objects.
    pub(super) ids: (u64, u64),
}

/// Calls back for the objects with the given ids, which are sorted, and perhaps for others: with the start of each
/// one's record and its length. Reads only the blocks that may contain one.
pub(super) fn look_up(
    source: &Source,
    blocks: &[HeapBlock],
    sorted: &[u64],
    mut look: impl FnMut(HeapKind, &[u8], u64),
) -> Result<(), DumpError> {
    for block in blocks {
        let (low, high) = block.ids;
        let first = sorted.partition_point(|&id| id < low);
        if sorted.get(first).is_none_or(|&id| id > high) {
            continue;
        }
        let bytes = source.read_at(block.offset, block.length)?;
        let mut records = HeapRecords::new(&bytes, IdSize::Eight);
        loop {
            let start = records.offset();
            match records.next() {
                Some(Ok(record)) if has_content(record.kind()) => {
                    let record_bytes = record.bytes();
                    look(record.kind(), record_bytes, record_bytes.len() as u64);
                }
                Some(Ok(_)) => {}
                // A large array may be truncated; it is the last of its block.
                Some(Err(HeapError::Incomplete { needed, .. })) => {
                    let cut = &bytes[start..];
                    let kind = HeapKind::from_tag(cut[0]).filter(|&kind| has_content(kind));
                    if let Some(kind) = kind.filter(|_| cut.len() > HEAD) {
                        look(kind, cut, needed);
                    }
                    break;
                }
                Some(Err(_)) | None => break,
            }
        }
    }
    Ok(())
}

/// The most bytes of an object's record before its content.
const HEAD: usize = 25;

/// Returns the id of an object, at the start of its record.
pub(super) fn id_of(record: &[u8]) -> u64 {
    read_u64_be(record, 1)
}

/// Returns `true` if the record is an object whose header states its length.
pub(super) fn has_content(kind: HeapKind) -> bool {
    matches!(
        kind,
        HeapKind::Instance | HeapKind::ObjectArray | HeapKind::PrimitiveArray
    )
}
