//! What was opened, or why nothing was.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::PathBuf;

/// The reason a file does not get the profile.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refused.
    #[error(transparent)]
    System(#[from] io::Error),
    /// Another user owns the file, and could read the profile.
    #[error("it belongs to another user (uid {0})")]
    Foreign(u32),
    /// Another user can change the target of the link.
    #[error("it is a link that other users control")]
    ForeignLink,
    /// The file is a pipe without a reader, and a write would wait for one that may never come.
    #[error("nobody reads from this pipe")]
    NoReader,
    /// Not a file that can hold a profile, such as a disk.
    #[error("it is neither a file nor a pipe nor a terminal")]
    Kind,
    /// Not a regular file (a pipe, for example), where several files are to follow one another.
    #[error("it is not a regular file, which rotate= needs")]
    NotPlain,
    /// Another profile is being written there, whose records would be lost.
    #[error("another profile is being written into it")]
    InUse,
}

impl FileError {
    /// Returns `true` if another profile is being written to the file.
    pub fn is_in_use(&self) -> bool {
        matches!(self, Self::InUse)
    }

    /// Returns `true` if the file should have been new but exists.
    pub fn exists_already(&self) -> bool {
        matches!(self, Self::System(error) if error.kind() == ErrorKind::AlreadyExists)
    }
}

/// An opened file.
pub(crate) struct Opened {
    pub(crate) file: File,
    /// `true` for a regular file that nobody else writes to, which may be replaced and truncated.
    pub(crate) is_plain: bool,
    pub(crate) is_pipe: bool,
    /// The path after all links are followed; `None` if the file did not exist before.
    pub(crate) found_at: Option<PathBuf>,
}
