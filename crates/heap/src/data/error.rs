//! The reasons a dump cannot be analysed.

use std::io;

use hprof_format::{HeapError, HeapKind, ObjectId, ReadError};

/// The reason a dump cannot be analysed. Offsets are in bytes from the start of the file, after decompression.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file, or a temporary one, failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file cannot be read as HPROF.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record in the dump is invalid.
    #[error("byte {offset}: {error}")]
    Record {
        /// The offset of the record.
        offset: u64,
        /// The fault in it, with an offset of 0.
        error: HeapError,
    },
    /// The file was truncated or overwritten by someone.
    #[error(
        "the file was changed while it was read: it was cut short, or another was written into it"
    )]
    Changed,
    /// The file is valid and has no heap dump.
    #[error("there is no heap dump in this file (heap=dump or heap=all writes one, as does jmap)")]
    NoDump,
    /// There are fewer dumps than requested.
    #[error("there is no dump {wanted} in this file, which has {dumps}")]
    NoSuchDump {
        /// The requested dump, counted from 1.
        wanted: usize,
        /// The number of dumps.
        dumps: usize,
    },
    /// Object numbers have 32 bits.
    #[error("byte {offset}: more than 4,294,967,294 objects; that is as many as can be numbered")]
    TooManyObjects {
        /// The offset of the first object that is too many.
        offset: u64,
    },
    /// An instance is shorter or longer than the fields of its class.
    #[error(
        "byte {offset}: {kind} of class 0x{:x} has {found} bytes of fields where its classes declare {declared}",
        class.0
    )]
    Fields {
        /// The offset of the record.
        offset: u64,
        /// Its kind.
        kind: HeapKind,
        /// Its class.
        class: ObjectId,
        /// The bytes it has.
        found: usize,
        /// The bytes that the classes declare.
        declared: usize,
    },
    /// The superclasses of a class form a cycle.
    #[error("byte {offset}: class 0x{:x} is a superclass of itself", class.0)]
    SuperCircle {
        /// The offset of its CLASS DUMP.
        offset: u64,
        /// The class.
        class: ObjectId,
    },
    /// There is no object with this id.
    #[error("there is no object 0x{:x} in the dump", .0.0)]
    NoObject(ObjectId),
    /// There is no class of this name.
    #[error("there is no class {name} in the dump{}", nearest.as_deref().map(|nearest| format!("; did you mean {nearest}?")).unwrap_or_default())]
    NoClass {
        /// The name that was asked for.
        name: String,
        /// The class that was probably meant.
        nearest: Option<String>,
    },
}
