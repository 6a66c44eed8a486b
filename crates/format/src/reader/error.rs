//! The reasons a file cannot be read.

use std::io;

use super::LARGEST_RECORD;
use crate::kind::HeapKind;
use crate::record::RecordKind;

/// The reason a file, or one of its records, cannot be read. Offsets are in bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The source failed.
    #[error("byte {offset}: {error}")]
    Io {
        /// The offset up to which it was read.
        offset: u64,
        /// The source's error.
        error: io::Error,
    },
    /// The file does not start like one in this format.
    #[error("byte {offset}: not an HPROF file: it does not start with \"JAVA PROFILE \"")]
    NotHprof {
        /// The offset at which it starts to differ, or ends.
        offset: u64,
    },
    /// The file is a profile in the text format.
    #[error(
        "byte {offset}: a profile in the text format (format=a); only the binary format (format=b) can be read"
    )]
    TextFormat {
        /// The offset at which it starts to differ from the binary format.
        offset: u64,
    },
    /// The file has a version of the format that is not a [`Version`](crate::reader::Version).
    #[error("byte {offset}: unknown version of the HPROF format; 1.0.1, 1.0.2 and 1.0.3 are known")]
    UnknownVersion {
        /// The offset of the version.
        offset: u64,
    },
    /// The size of ids is neither 4 nor 8.
    #[error("byte {offset}: ids of {size} bytes; only 4 and 8 are possible")]
    IdSize {
        /// The offset of the size.
        offset: u64,
        /// The size it states.
        size: u32,
    },
    /// The file ends within its header.
    #[error("byte {offset}: the file ends inside its header; {missing} bytes are missing")]
    TruncatedHeader {
        /// The offset at which it ends.
        offset: u64,
        /// The number of missing bytes.
        missing: u64,
    },
    /// The file ends within a record, for example because the program that wrote it was killed.
    #[error(
        "byte {offset}: the file ends inside the record that starts here, as when the program was killed; \
         {missing} or more bytes are missing, every record before this byte is whole"
    )]
    Truncated {
        /// The offset of the truncated record, which is the end of the last complete one.
        offset: u64,
        /// The number of bytes missing from the record, or from its first nine if even those are incomplete.
        missing: u64,
    },
    /// The file ends between two segments of a heap dump, for example because the program that wrote it was killed.
    #[error(
        "byte {offset}: the file ends before the heap dump does, as when the program was killed; every record before this byte \
         is whole"
    )]
    NoDumpEnd {
        /// The offset at which it ends.
        offset: u64,
    },
    /// A record that must be held in memory is too large for that. Reading can continue after it.
    #[error(
        "byte {offset}: {kind} of {length} bytes; only heap dumps may take more than {LARGEST_RECORD}"
    )]
    TooLarge {
        /// The offset of the record.
        offset: u64,
        /// Its kind.
        kind: RecordKind,
        /// The size of its body, in bytes.
        length: u32,
    },
    /// A record's tag is not one of the format's. Reading can continue after it.
    #[error("byte {offset}: unknown tag 0x{tag:02X}")]
    UnknownTag {
        /// The offset of the record.
        offset: u64,
        /// Its tag.
        tag: u8,
    },
    /// A record is shorter than its content. Reading can continue after it.
    #[error(
        "byte {offset}: {kind} is too short: {length} bytes where its content needs {needed} or more"
    )]
    TooShort {
        /// The offset of the record.
        offset: u64,
        /// Its kind.
        kind: RecordKind,
        /// The size of its body, in bytes.
        length: u32,
        /// The number of bytes that its content needs, as far as it could be read.
        needed: u64,
    },
    /// A record is longer than its content. Reading can continue after it.
    #[error(
        "byte {offset}: {kind} is too long: {length} bytes where its content ends after {needed}"
    )]
    TooLong {
        /// The offset of the record.
        offset: u64,
        /// Its kind.
        kind: RecordKind,
        /// The size of its body, in bytes.
        length: u32,
        /// The number of bytes that its content takes.
        needed: u64,
    },
    /// A field has a value without a meaning. Reading can continue after the record.
    #[error("byte {offset}: {kind} has the {field} {value}, which means nothing")]
    Value {
        /// The offset of the record.
        offset: u64,
        /// Its kind.
        kind: RecordKind,
        /// The field.
        field: &'static str,
        /// The value.
        value: i64,
    },
    /// A tag inside a heap dump is not one of the format's. The rest of the dump's record cannot be read; reading can
    /// continue after it.
    #[error("byte {offset}: unknown tag 0x{tag:02X} in the {within} of byte {start}")]
    HeapTag {
        /// The offset of the tag.
        offset: u64,
        /// The tag.
        tag: u8,
        /// HEAP DUMP or HEAP DUMP SEGMENT.
        within: RecordKind,
        /// The offset of that record.
        start: u64,
    },
    /// A record inside a heap dump does not end with the dump's record. Reading can continue after the latter.
    #[error(
        "byte {offset}: {kind} takes {needed} bytes or more, but the {within} of byte {start} ends after {left}"
    )]
    HeapTooShort {
        /// The offset of the record inside.
        offset: u64,
        /// Its kind.
        kind: HeapKind,
        /// The number of bytes that it takes, as far as known.
        needed: u64,
        /// The number of bytes that are left for it.
        left: u64,
        /// HEAP DUMP or HEAP DUMP SEGMENT.
        within: RecordKind,
        /// The offset of that record.
        start: u64,
    },
    /// A field of a record inside a heap dump has a value without a meaning. Reading can continue after the dump's
    /// record.
    #[error("byte {offset}: {kind} has the {field} {value}, which means nothing")]
    HeapValue {
        /// The offset of the record inside.
        offset: u64,
        /// Its kind.
        kind: HeapKind,
        /// The field.
        field: &'static str,
        /// The value.
        value: i64,
    },
}

impl ReadError {
    /// Returns the offset that the error is about.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match *self {
            ReadError::Io { offset, .. }
            | ReadError::NotHprof { offset }
            | ReadError::TextFormat { offset }
            | ReadError::UnknownVersion { offset }
            | ReadError::IdSize { offset, .. }
            | ReadError::TruncatedHeader { offset, .. }
            | ReadError::NoDumpEnd { offset }
            | ReadError::Truncated { offset, .. }
            | ReadError::TooLarge { offset, .. }
            | ReadError::UnknownTag { offset, .. }
            | ReadError::TooShort { offset, .. }
            | ReadError::TooLong { offset, .. }
            | ReadError::Value { offset, .. }
            | ReadError::HeapTag { offset, .. }
            | ReadError::HeapTooShort { offset, .. }
            | ReadError::HeapValue { offset, .. } => offset,
        }
    }
}
