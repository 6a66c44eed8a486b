//! The reasons a class or a method cannot be rewritten.

/// The bytes are not a class file that can be read. The class should be left unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The first four bytes are not those of a class file.
    #[error("this is not a class file: it does not start with CAFEBABE")]
    NotAClassFile,
    /// The bytes end within an item.
    #[error("the class file is cut off at byte {offset}")]
    Truncated {
        /// The offset at which bytes are missing.
        offset: usize,
    },
    /// An entry of the constant pool has a kind that no version of the format knows.
    #[error("the constant pool's entry {index} is of the unknown kind {tag}")]
    UnknownConstant {
        /// The entry, from 1.
        index: u16,
        /// Its kind.
        tag: u8,
    },
    /// Something refers to an entry of the constant pool that does not exist or has another kind.
    #[error("the constant pool's entry {index} is not {wanted}")]
    WrongConstant {
        /// The entry that was referred to.
        index: u16,
        /// The kind it should have.
        wanted: &'static str,
    },
    /// A class name, a member name or a list is longer than the format allows.
    #[error("{what} is too long")]
    TooLong {
        /// The item that is too long.
        what: &'static str,
    },
    /// There are bytes after the end of the class file.
    #[error("the class file ends at byte {offset}, but there are more bytes")]
    TrailingBytes {
        /// The offset of that end.
        offset: usize,
    },
}

/// The reason one method stays unchanged while the others of its class are rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The code is invalid, or has a form that this version does not know.
    Malformed,
    /// The result would exceed a limit of the format: code, stack, a table.
    TooLarge,
    /// A conditional jump would have to reach further than 32 KB.
    JumpTooFar,
}

impl From<Error> for Fault {
    fn from(_: Error) -> Self {
        Self::Malformed
    }
}
