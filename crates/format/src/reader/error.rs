//! Why a file cannot be read.

use std::io;

use super::LARGEST_RECORD;
use crate::{HeapKind, RecordKind};

/// Why a file, or one of its records, cannot be read. Offsets are bytes from the start of the file.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The source failed.
    #[error("byte {offset}: {error}")]
    Io {
        /// How far it was read.
        offset: u64,
        /// What it said.
        error: io::Error,
    },
    /// The file does not start like one in this format.
    #[error("byte {offset}: not an HPROF file: it does not start with \"JAVA PROFILE \"")]
    NotHprof {
        /// Where it starts to differ, or ends.
        offset: u64,
    },
    /// The file is a profile in the text format.
    #[error(
        "byte {offset}: a profile in the text format (format=a); only the binary format (format=b) can be read"
    )]
    TextFormat {
        /// Where it starts to differ from the binary format.
        offset: u64,
    },
    /// The file is in a version of the format that is none of [`Version`].
    #[error("byte {offset}: unknown version of the HPROF format; 1.0.1, 1.0.2 and 1.0.3 are known")]
    UnknownVersion {
        /// Where the version stands.
        offset: u64,
    },
    /// The size of ids is neither 4 nor 8.
    #[error("byte {offset}: ids of {size} bytes; only 4 and 8 are possible")]
    IdSize {
        /// Where the size stands.
        offset: u64,
        /// What it says.
        size: u32,
    },
    /// The file ends before its first record could start.
    #[error("byte {offset}: the file ends inside its header; {missing} bytes are missing")]
    TruncatedHeader {
        /// Where it ends.
        offset: u64,
        /// How many bytes are missing.
        missing: u64,
    },
    /// The file ends in mid-record, as when the program that wrote it was killed.
    #[error(
        "byte {offset}: the file ends inside the record that starts here, as when the program was killed; \
         {missing} or more bytes are missing, every record before this byte is whole"
    )]
    Truncated {
        /// Where the cut record starts, which is where the last whole one ends.
        offset: u64,
        /// How many bytes are missing from the record, or from its first nine where they are not all there.
        missing: u64,
    },
    /// A record that must be held whole is too large for that. The reader can go on behind it.
    #[error(
        "byte {offset}: {kind} of {length} bytes; only heap dumps may take more than {LARGEST_RECORD}"
    )]
    TooLarge {
        /// Where the record starts.
        offset: u64,
        /// Its kind.
        kind: RecordKind,
        /// Bytes of its body.
        length: u32,
    },
    /// A record's tag is none of the format's. The reader can go on behind it.
    #[error("byte {offset}: unknown tag 0x{tag:02X}")]
    UnknownTag {
        /// Where the record starts.
        offset: u64,
        /// Its tag.
        tag: u8,
    },
    /// A record is shorter than its content. The reader can go on behind it.
    #[error(
        "byte {offset}: {kind} is too short: {length} bytes where its content needs {needed} or more"
    )]
    TooShort {
        /// Where the record starts.
        offset: u64,
        /// Its kind.
        kind: RecordKind,
        /// Bytes of its body.
        length: u32,
        /// Bytes that its content needs, as far as it could be read.
        needed: u64,
    },
    /// A record is longer than its content. The reader can go on behind it.
    #[error(
        "byte {offset}: {kind} is too long: {length} bytes where its content ends after {needed}"
    )]
    TooLong {
        /// Where the record starts.
        offset: u64,
        /// Its kind.
        kind: RecordKind,
        /// Bytes of its body.
        length: u32,
        /// Bytes that its content takes.
        needed: u64,
    },
    /// A field holds a value without a meaning. The reader can go on behind the record.
    #[error("byte {offset}: {kind} has the {field} {value}, which means nothing")]
    Value {
        /// Where the record starts.
        offset: u64,
        /// Its kind.
        kind: RecordKind,
        /// The field.
        field: &'static str,
        /// What it holds.
        value: i64,
    },
    /// A tag inside a heap dump is none of the format's. What is left of the dump's record cannot be read; the reader can
    /// go on behind it.
    #[error("byte {offset}: unknown tag 0x{tag:02X} in the {within} of byte {start}")]
    HeapTag {
        /// Where the tag stands.
        offset: u64,
        /// The tag.
        tag: u8,
        /// HEAP DUMP or HEAP DUMP SEGMENT.
        within: RecordKind,
        /// Where that one starts.
        start: u64,
    },
    /// A record inside a heap dump does not end where the dump's record does. The reader can go on behind that one.
    #[error(
        "byte {offset}: {kind} takes {needed} bytes or more, but the {within} of byte {start} ends after {left}"
    )]
    HeapTooShort {
        /// Where the record inside starts.
        offset: u64,
        /// Its kind.
        kind: HeapKind,
        /// Bytes that it takes, as far as can be told.
        needed: u64,
        /// Bytes that are left for it.
        left: u64,
        /// HEAP DUMP or HEAP DUMP SEGMENT.
        within: RecordKind,
        /// Where that one starts.
        start: u64,
    },
    /// A field of a record inside a heap dump holds a value without a meaning. The reader can go on behind the dump's
    /// record.
    #[error("byte {offset}: {kind} has the {field} {value}, which means nothing")]
    HeapValue {
        /// Where the record inside starts.
        offset: u64,
        /// Its kind.
        kind: HeapKind,
        /// The field.
        field: &'static str,
        /// What it holds.
        value: i64,
    },
}

impl ReadError {
    /// The byte of the file that the error is about.
    #[must_use]
    pub fn offset(&self) -> u64 {
        match *self {
            ReadError::Io { offset, .. }
            | ReadError::NotHprof { offset }
            | ReadError::TextFormat { offset }
            | ReadError::UnknownVersion { offset }
            | ReadError::IdSize { offset, .. }
            | ReadError::TruncatedHeader { offset, .. }
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
