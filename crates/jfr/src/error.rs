//! Errors of reading and of writing.

use std::io;

/// The reason a recording, or the rest of it, cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The bytes do not have the format.
    #[error("byte {offset}: {fault}")]
    Format {
        /// The place in the file.
        offset: u64,
        /// The fault.
        fault: Fault,
    },
    /// The source failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A deviation from the format.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// No chunk begins here.
    #[error("no chunk of a JFR recording begins here")]
    NoChunk,
    /// A version that is not known.
    #[error("version {0}.{1} of the format is not known; 1 and 2 are")]
    Version(u16, u16),
    /// The JVM was still writing.
    #[error(
        "the chunk was never finished: the program was killed or still runs; `jcmd PID JFR.dump` writes a finished \
         copy, and `jfr assemble` puts one together of the files in the repository"
    )]
    Unfinished,
    /// A chunk is smaller than its header.
    #[error("a chunk of {0} bytes is smaller than its header")]
    ChunkSize(u64),
    /// The file ends too early.
    #[error("cut off: {wanted} bytes should follow, and {left} do")]
    Truncated {
        /// The bytes that should be there.
        wanted: u64,
        /// The bytes that are.
        left: u64,
    },
    /// An event has no length.
    #[error("an event of 0 bytes")]
    EmptyEvent,
    /// A chunk without a description of its events.
    #[error("the chunk has no metadata")]
    NoMetadata,
    /// An unknown encoding.
    #[error("a text has the encoding {0}; 0 to 5 are known")]
    Encoding(u8),
    /// A number that names nothing.
    #[error("text {0} of the metadata does not exist")]
    NoText(u64),
    /// An attribute that should be a number.
    #[error("`{0}` is not a number of a type")]
    NoNumber(String),
    /// An attribute that should be there.
    #[error("a `{element}` of the metadata has no `{attribute}`")]
    NoAttribute {
        /// The element.
        element: &'static str,
        /// The attribute.
        attribute: &'static str,
    },
    /// A type that the metadata does not describe.
    #[error("type {0} is not described in the metadata")]
    NoType(u64),
    /// A value of a type without fields.
    #[error("a value of the type `{0}`, which has no fields")]
    NoFields(String),
    /// Too deep.
    #[error("nested more than {0} deep")]
    Nested(usize),
}

/// The reason a recording cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The values of an event are not those of its type.
    #[error("the values of an event are not those that {0} has")]
    Values(String),
    /// The destination failed.
    #[error(transparent)]
    Io(#[from] io::Error),
}
