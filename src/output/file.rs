//! The file that the profile goes to.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::Sink;

/// Only the user may read a profile: names in it may be secret.
const MODE: u32 = 0o600;

/// A file being written, in pieces that end at the end of a record.
pub struct FileSink {
    file: File,
    path: PathBuf,
    written: u64,
}

impl FileSink {
    /// Creates the file, or empties the one that exists.
    pub fn create(path: &Path) -> io::Result<Self> {
        Self::open(
            path,
            OpenOptions::new().write(true).create(true).truncate(true),
        )
    }

    /// Creates the file; an existing one is an error.
    pub fn create_new(path: &Path) -> io::Result<Self> {
        Self::open(path, OpenOptions::new().write(true).create_new(true))
    }

    fn open(path: &Path, options: &mut OpenOptions) -> io::Result<Self> {
        Ok(Self {
            file: options.mode(MODE).open(path)?,
            path: path.to_owned(),
            written: 0,
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Sink for FileSink {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a piece, whole or not at all: after an error the file ends where the last whole piece did.
    fn write(&mut self, piece: &[u8], _: &AtomicBool) -> io::Result<()> {
        match self.file.write_all(piece) {
            Ok(()) => {
                self.written += piece.len() as u64;
                Ok(())
            }
            Err(error) => {
                // Not every file can be cut (a pipe, a device); then the reader finds the torn record.
                let _ = self.file.set_len(self.written);
                Err(error)
            }
        }
    }

    fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the error says that there is such a file already.
pub fn exists_already(error: &io::Error) -> bool {
    error.kind() == ErrorKind::AlreadyExists
}
