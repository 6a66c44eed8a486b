//! The reasons an input has no tables.

use std::io;
use std::path::{Path, PathBuf};

use hprof_format::{ReadError, TextError};
use parquet::errors::ParquetError;

/// The reason an input has no tables.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input is not a valid file in the binary format.
    #[error(transparent)]
    Binary(#[from] ReadError),
    /// The input is not a valid file in the text format.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The heap dump is invalid.
    #[error(transparent)]
    Heap(#[from] hprof_heap::Error),
    /// The input has no such dump.
    #[error("there is no section {wanted}; the file has {sections}")]
    NoSection {
        /// The requested dump.
        wanted: u32,
        /// The number of dumps.
        sections: u32,
    },
    /// The tables cannot be written.
    #[error("writing {}: {error}", path.display())]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// The tables cannot be encoded.
    #[error("writing the tables: {0}")]
    Parquet(ParquetError),
}

impl Error {
    pub(crate) fn output(path: &Path) -> impl FnOnce(io::Error) -> Error + '_ {
        move |error| Error::Output {
            path: path.to_owned(),
            error,
        }
    }

    /// Returns `true` if the tables are at fault and not the input, so that other inputs would fail too.
    #[must_use]
    pub fn is_output(&self) -> bool {
        matches!(self, Error::Output { .. } | Error::Parquet(_))
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Error {
        match error {
            // An underlying failure is contained as text or as a cause.
            ParquetError::External(cause) => match cause.downcast::<io::Error>() {
                Ok(error) => Error::Output {
                    path: PathBuf::from("the tables"),
                    error: *error,
                },
                Err(cause) => Error::Parquet(ParquetError::External(cause)),
            },
            error => Error::Parquet(error),
        }
    }
}
