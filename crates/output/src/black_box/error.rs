//! Why there is no black box.

use std::io;

use crate::open::FileError;

/// The reason there is no such file.
#[derive(Debug, thiserror::Error)]
pub enum NoBlackBox {
    /// It cannot be created.
    #[error(transparent)]
    File(#[from] FileError),
    /// A file of another kind has its name.
    #[error("a file of that name exists, and is no black box")]
    Taken,
    /// The profile goes to something else than a file.
    #[error("the profile does not go to a regular file")]
    NoPlace,
}

impl From<io::Error> for NoBlackBox {
    fn from(error: io::Error) -> Self {
        Self::File(error.into())
    }
}
