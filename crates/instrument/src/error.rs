//! Why a class or a method could not be rewritten.

/// The bytes are not a class file that can be read. The class is to be left as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The first four bytes are not those of a class file.
    #[error("this is not a class file: it does not start with CAFEBABE")]
    NotAClassFile,
    /// The bytes end inside of something.
    #[error("the class file is cut off at byte {offset}")]
    Truncated {
        /// Where the bytes were missing.
        offset: usize,
    },
    /// An entry of the constant pool is of a kind that no version of the format has.
    #[error("the constant pool's entry {index} is of the unknown kind {tag}")]
    UnknownConstant {
        /// The entry, from 1.
        index: u16,
        /// Its kind.
        tag: u8,
    },
    /// Something refers to an entry of the constant pool that is not there or is of another kind.
    #[error("the constant pool's entry {index} is not {wanted}")]
    WrongConstant {
        /// The entry that was referred to.
        index: u16,
        /// What it had to be.
        wanted: &'static str,
    },
    /// A class name, a member name or a list is longer than the format can say.
    #[error("{what} is too long")]
    TooLong {
        /// What it is.
        what: &'static str,
    },
    /// Bytes follow where the class file ends.
    #[error("the class file ends at byte {offset}, but there are more bytes")]
    TrailingBytes {
        /// Where it ends.
        offset: usize,
    },
}

/// Why one method stays as it is while the others of its class are rewritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The code is not valid, or is of a form that this version does not know.
    Malformed,
    /// More than the format can hold: code, stack, a table.
    TooLarge,
    /// A conditional jump would have to go further than 32 KB.
    JumpTooFar,
}

impl From<Error> for Fault {
    fn from(_: Error) -> Self {
        Self::Malformed
    }
}
