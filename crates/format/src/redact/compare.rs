//! Compares a redacted file with its original.

use std::io::{Read, Seek};

use super::{RedactKey, RedactSelection, Redactor, Unfinished, content};
use crate::id_size::IdSize;
use crate::reader::{Entry, HeapEntry, HeapItem, Item, RECORD_HEADER, ReadError, Reader};
use crate::record::{BasicType, Record, StringRecord};

/// The reason a file is not the redacted form of another.
#[derive(Debug, thiserror::Error)]
pub enum RedactedContent {
    /// One of the files cannot be read.
    #[error("the {file} file: {error}")]
    Read {
        /// "original" or "redacted".
        file: &'static str,
        /// Its fault.
        error: ReadError,
    },
    /// They differ where they must be the same.
    #[error(
        "byte {offset}: not the redacted form of that file: its structure differs from here on"
    )]
    Other {
        /// The offset of the record in the original.
        offset: u64,
    },
    /// Content is left.
    #[error("byte {offset}: this record has content of the original")]
    Left {
        /// The offset of the record.
        offset: u64,
    },
}

/// Verifies that `redacted` has the structure of `original` and nothing of the content of its heap dumps: that every
/// number of a field is 0 (except for [`KEPT_FIELDS`](super::KEPT_FIELDS)), and that no array, and no text that is not a
/// name, has a byte of the original at its place. Arrays of `boolean` are not compared: their values are one of two. Nor are
/// those with the names of threads. Returns
/// the number of objects, roots and classes that have been compared.
///
/// # Errors
/// [`RedactedContent`], for the first place where that is not so.
pub fn compare_redacted(
    original: impl Read + Seek,
    redacted: impl Read,
) -> Result<u64, RedactedContent> {
    let of_original = |error| RedactedContent::Read {
        file: "original",
        error,
    };
    let of_redacted = |error| RedactedContent::Read {
        file: "redacted",
        error,
    };
    let mut original = Reader::new(original).map_err(of_original)?;
    let mut redacted = Reader::new(redacted).map_err(of_redacted)?;
    if original.header() != redacted.header() {
        return Err(RedactedContent::Other { offset: 0 });
    }
    // Whatever the key is: pseudonyms are not compared.
    let redactor = Redactor::new(RedactKey::new(&[0; 16]), RedactSelection::default());
    let mut comparison = Comparison {
        id_size: original.header().id_size,
        redactor,
        expected: Vec::new(),
    };
    let learned = comparison.redactor.learn(&mut original);
    learned.map_err(of_original)?;
    let mut compared = 0;
    loop {
        let ours = original.read().map_err(of_original)?;
        let theirs = redacted.read().map_err(of_redacted)?;
        match (ours, theirs) {
            (Some(ours), Some(theirs)) => comparison.record(&ours, theirs.bytes)?,
            (None, None) => return Ok(compared),
            (Some(more), None) | (None, Some(more)) => {
                return Err(RedactedContent::Other {
                    offset: more.offset,
                });
            }
        }
        // Of equal records, one has no more content than the other.
        while let Some(ours) = original.read_heap().map_err(of_original)? {
            let theirs = redacted.read_heap().map_err(of_redacted)?;
            let theirs = theirs.map_or(&[][..], |entry| entry.bytes);
            comparison.heap_record(&ours, theirs)?;
            compared += u64::from(!matches!(ours.item, HeapItem::Piece { .. }));
        }
    }
}

struct Comparison {
    id_size: IdSize,
    redactor: Redactor,
    /// The record after redaction.
    expected: Vec<u8>,
}

impl Comparison {
    /// Compares a record that is not in a heap dump.
    fn record(&mut self, ours: &Entry<'_>, theirs: &[u8]) -> Result<(), RedactedContent> {
        self.expected.clear();
        self.redactor.record(ours, &mut self.expected);
        let Item::Record(Record::String(StringRecord { id, .. })) = ours.item else {
            return self.same(ours.offset, ours.bytes, theirs, theirs.len());
        };
        let text = RECORD_HEADER + self.id_size.width();
        self.same(ours.offset, ours.bytes, theirs, text)?;
        let (original, expected, found) =
            (&ours.bytes[text..], &self.expected[text..], &theirs[text..]);
        let is_left = match id.is_name() {
            // A name may stay or go.
            true => !self.redactor.names.has(id) && have_equal_bytes(original, found),
            false => (expected.iter().zip(found))
                .any(|(&hidden, &found)| hidden == b'*' && found != b'*'),
        };
        match is_left {
            true => Err(RedactedContent::Left {
                offset: ours.offset,
            }),
            false => Ok(()),
        }
    }

    /// Compares a record of a heap dump, or a piece of one.
    fn heap_record(&mut self, ours: &HeapEntry<'_>, theirs: &[u8]) -> Result<(), RedactedContent> {
        let offset = ours.offset;
        self.expected.clear();
        self.redactor
            .heap_record(ours, self.id_size, &mut self.expected)
            .map_err(|_| RedactedContent::Other { offset })?;
        let may_be_equal = match &self.redactor.unfinished {
            Unfinished::Array(pseudonym) => pseudonym.element() == BasicType::Boolean,
            // A name may stay or go.
            Unfinished::ThreadName => true,
            Unfinished::Kept | Unfinished::Instance(..) => {
                return self.same(offset, ours.bytes, theirs, theirs.len());
            }
        };
        let length = match &ours.item {
            HeapItem::Record(record) => content(record).len(),
            HeapItem::Head { .. } => 0,
            HeapItem::Piece { bytes, .. } => bytes.len(),
        };
        let head = ours.bytes.len() - length;
        self.same(offset, ours.bytes, theirs, head)?;
        match !may_be_equal && have_equal_bytes(&ours.bytes[head..], &theirs[head..]) {
            true => Err(RedactedContent::Left { offset }),
            false => Ok(()),
        }
    }

    /// Verifies that a record is as long as expected, and as expected up to `end`.
    fn same(
        &self,
        offset: u64,
        ours: &[u8],
        theirs: &[u8],
        end: usize,
    ) -> Result<(), RedactedContent> {
        if theirs.len() != self.expected.len() {
            return Err(RedactedContent::Other { offset });
        }
        if theirs.get(..end) == self.expected.get(..end) {
            return Ok(());
        }
        let mut bytes = self.expected.iter().zip(ours).zip(theirs).take(end);
        Err(
            match bytes.all(|((expected, ours), theirs)| theirs == expected || theirs == ours) {
                true => RedactedContent::Left { offset },
                false => RedactedContent::Other { offset },
            },
        )
    }
}

/// Returns `true` if a byte that is not 0 is the same in both.
fn have_equal_bytes(one: &[u8], other: &[u8]) -> bool {
    (one.iter().zip(other)).any(|(&one, &other)| one == other && one != 0)
}
