//! The reasons a text file cannot be read.

use std::io;

/// The reason a text file, or a record of it, cannot be read. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The source failed.
    #[error("line {line}: {error}")]
    Io {
        /// The line that was being read.
        line: u64,
        /// The source's error.
        error: io::Error,
    },
    /// A line is not what the format requires.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Unexpected {
        /// The line.
        line: u64,
        /// The expected text.
        expected: &'static str,
        /// The line's beginning, made printable.
        found: String,
    },
    /// The file ends within a record, for example because the program that wrote it was killed.
    #[error(
        "line {start}: the file ends inside {record}, which starts here; every record before it is whole"
    )]
    Cut {
        /// The line at which the record starts.
        start: u64,
        /// The record's name.
        record: &'static str,
    },
    /// A line is longer than any that an agent writes.
    #[error("line {line}: longer than {limit} bytes")]
    Long {
        /// The line.
        line: u64,
        /// The limit, in bytes.
        limit: u64,
    },
}
