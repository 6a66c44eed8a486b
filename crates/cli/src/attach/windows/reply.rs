//! The agent's answers.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::answer::Answered;
use super::error::Error;
use super::process::Process;
use crate::interrupts::BeforeTheEnd;

/// The prefix of the files' names.
const REPLY: &str = ".hprof-reply-";

/// A file for the agent's answer, which the VM does not return. It is removed on drop.
pub struct Reply {
    file: NamedTempFile,
    _end: BeforeTheEnd,
}

impl Reply {
    /// Creates it in this user's folder for such files.
    pub fn create(process: &Process) -> Result<Self, Error> {
        let failed = |error: io::Error| Error::Theirs {
            pid: process.pid(),
            path: std::env::temp_dir().join(REPLY),
            error,
        };
        let mut builder = tempfile::Builder::new();
        // Fails if the name is taken.
        let file = builder
            .prefix(REPLY)
            .rand_bytes(12)
            .tempfile()
            .map_err(failed)?;
        let path = file.path().to_owned();
        Ok(Self {
            file,
            _end: BeforeTheEnd::call(move || drop(fs::remove_file(path))),
        })
    }

    /// Returns the path.
    pub fn own_path(&self) -> PathBuf {
        Path::new(self.file.path()).to_owned()
    }

    /// Returns the answer, if there is one yet.
    pub fn read(&self, pid: u32) -> Result<Option<Answered>, Error> {
        Answered::read(pid, self.file.as_file())
    }
}
