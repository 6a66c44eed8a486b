//! The file that the profile goes to.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::Sink;
use super::open::{self, FileError, Opened};

/// A file being written, in pieces that end at the end of a record.
pub struct FileSink {
    file: File,
    path: PathBuf,
    /// Bytes so far; `None` where others write there too, so that it is neither emptied nor cut.
    written: Option<u64>,
}

impl FileSink {
    /// Creates the file. One that exists is emptied when the first piece comes: a VM that refuses to start leaves it as it
    /// was.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        Ok(Self::new(open::open(path)?, path))
    }

    /// Creates the file; an existing one is an error.
    pub fn create_new(path: &Path) -> Result<Self, FileError> {
        Ok(Self::new(open::create_new(path)?, path))
    }

    fn new(opened: Opened, path: &Path) -> Self {
        Self {
            file: opened.file,
            path: path.to_owned(),
            written: opened.is_plain.then_some(0),
        }
    }

    /// Whether it is a plain file that nobody else writes to.
    pub fn is_plain(&self) -> bool {
        self.written.is_some()
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

    /// Writes a piece, whole or not at all where the file can be cut: after an error it ends where the last whole piece did.
    fn write(&mut self, piece: &[u8], _: &AtomicBool) -> io::Result<()> {
        if self.written == Some(0) {
            self.file.set_len(0)?;
        }
        let answer = self.file.write_all(piece);
        if let Some(written) = &mut self.written {
            match answer {
                Ok(()) => *written += piece.len() as u64,
                // Where even this fails, the reader finds the torn record.
                Err(_) => drop(self.file.set_len(*written)),
            }
        }
        answer
    }

    fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
        Ok(())
    }
}
