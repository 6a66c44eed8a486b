//! Why an input has no tables.

use std::io;
use std::path::{Path, PathBuf};

use hprof_format::{ReadError, TextError};
use parquet::errors::ParquetError;

/// Why an input has no tables.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The input failed.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The input is no sound file of the binary format.
    #[error(transparent)]
    Binary(#[from] ReadError),
    /// The input is no sound file of the text format.
    #[error(transparent)]
    Text(#[from] TextError),
    /// The heap dump is not sound.
    #[error(transparent)]
    Heap(#[from] hprof_heap::Error),
    /// The input has no such dump.
    #[error("there is no section {wanted}; the file has {sections}")]
    NoSection {
        /// What was asked for.
        wanted: u32,
        /// How many there are.
        sections: u32,
    },
    /// The tables cannot be written.
    #[error("writing {}: {error}", path.display())]
    Output {
        /// The file or folder.
        path: PathBuf,
        /// Why.
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

    /// Whether the tables are at fault and not the input, so that others would fare no better.
    #[must_use]
    pub fn is_output(&self) -> bool {
        matches!(self, Error::Output { .. } | Error::Parquet(_))
    }
}

impl From<ParquetError> for Error {
    fn from(error: ParquetError) -> Error {
        match error {
            // What failed below it stands in it as text or as a cause.
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
