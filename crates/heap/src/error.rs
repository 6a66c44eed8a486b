//! Why a dump cannot be analysed.

use std::io;

use hprof_format::{HeapError, HeapKind, ReadError};

/// Why a dump cannot be analysed. Offsets are bytes from the start of the file, decompressed where it is compressed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file, or a temporary one, failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The file cannot be read as HPROF.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A record in the dump is not one.
    #[error("byte {offset}: {error}")]
    Record {
        /// Where the record starts.
        offset: u64,
        /// What is wrong with it; its own offset is 0.
        error: HeapError,
    },
    /// Somebody has cut the file short or written another one into it.
    #[error(
        "the file was changed while it was read: it was cut short, or another was written into it"
    )]
    Changed,
    /// The file is sound and holds no heap dump.
    #[error("there is no heap dump in this file (heap=dump or heap=all writes one, as does jmap)")]
    NoDump,
    /// There are fewer dumps than the one that was asked for.
    #[error("there is no dump {wanted} in this file, which has {dumps}")]
    NoSuchDump {
        /// The one asked for, counted from 1.
        wanted: usize,
        /// How many there are.
        dumps: usize,
    },
    /// Object numbers have 32 bits.
    #[error("byte {offset}: more than 4,294,967,294 objects; that is as many as can be numbered")]
    TooManyObjects {
        /// Where the first one too many stands.
        offset: u64,
    },
    /// An instance is shorter or longer than the fields of its class.
    #[error(
        "byte {offset}: {kind} of class 0x{class:x} has {found} bytes of fields where its classes declare {declared}"
    )]
    Fields {
        /// Where the record starts.
        offset: u64,
        /// What it is.
        kind: HeapKind,
        /// Its class.
        class: u64,
        /// Bytes it has.
        found: usize,
        /// Bytes the classes declare.
        declared: usize,
    },
    /// The superclasses of a class never end.
    #[error("byte {offset}: class 0x{class:x} is a superclass of itself")]
    SuperCircle {
        /// Where its CLASS DUMP stands.
        offset: u64,
        /// The class.
        class: u64,
    },
    /// There is no object of this id.
    #[error("there is no object 0x{0:x} in the dump")]
    NoObject(u64),
    /// There is no class of this name.
    #[error("there is no class {0} in the dump")]
    NoClass(String),
}
