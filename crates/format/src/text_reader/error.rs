//! Why a text file cannot be read.

use std::io;

/// Why a text file, or a record of it, cannot be read. Lines count from 1.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// The source failed.
    #[error("line {line}: {error}")]
    Io {
        /// The line that was being read.
        line: u64,
        /// What the source said.
        error: io::Error,
    },
    /// A line is not what has to stand there.
    #[error("line {line}: expected {expected}, found `{found}`")]
    Unexpected {
        /// The line.
        line: u64,
        /// What was expected.
        expected: &'static str,
        /// The line's beginning, fit to be printed.
        found: String,
    },
    /// The file ends in mid-record, as when the program that wrote it was killed.
    #[error(
        "line {start}: the file ends inside {record}, which starts here; every record before it is whole"
    )]
    Cut {
        /// The line where the record starts.
        start: u64,
        /// The record's name.
        record: &'static str,
    },
    /// A line is longer than any that an agent writes.
    #[error("line {line}: longer than {limit} bytes")]
    Long {
        /// The line.
        line: u64,
        /// What is allowed.
        limit: u64,
    },
}
