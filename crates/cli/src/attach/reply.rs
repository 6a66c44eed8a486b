//! The agent's answers.

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, OFlags, flock};
use rustix::process::geteuid;
use tempfile::NamedTempFile;

use super::answer::Answered;
use super::process::Process;
use super::view::Folder;
use super::{Error, TEMPORARY, temporary};
use crate::interrupts::BeforeTheEnd;

/// A file for the agent's answer, which the VM does not return. It is removed on drop, or by the next process if this
/// one is killed: each keeps its file locked for as long as it lives.
pub struct Reply {
    file: NamedTempFile,
    _end: BeforeTheEnd,
    /// Declared after the file, which is removed from it.
    _folder: Folder,
}

/// The prefix of the files' names.
const REPLY: &str = ".hprof-reply-";
/// The number of attempts if a new file is removed by another process before it is locked.
const ROUNDS: usize = 10;

impl Reply {
    /// Creates it in the folder of the program for such files.
    pub fn create(process: &Process) -> Result<Self, Error> {
        let folder = temporary(process)?;
        sweep(&folder);
        let failed = |error: io::Error| Error::Theirs {
            pid: process.pid(),
            path: Path::new(TEMPORARY).join(REPLY),
            // Without the path, which only this process can use.
            error: error.kind().into(),
        };
        for _ in 0..ROUNDS {
            // Created with mode 0600; fails if the name is taken.
            let mut builder = tempfile::Builder::new();
            let builder = builder.prefix(REPLY).rand_bytes(12);
            let file = builder.tempfile_in(folder.path()).map_err(failed)?;
            let _ = flock(file.as_file(), FlockOperation::LockExclusive);
            let links = file.as_file().metadata().map(|metadata| metadata.nlink());
            if links.is_ok_and(|links| links > 0) {
                let path = file.path().to_owned();
                return Ok(Self {
                    file,
                    _end: BeforeTheEnd::call(move || drop(fs::remove_file(path))),
                    _folder: folder,
                });
            }
        }
        Err(failed(ErrorKind::NotFound.into()))
    }

    /// Returns the path as the program sees it.
    pub fn own_path(&self) -> PathBuf {
        let name = self.file.path().file_name().unwrap_or_default();
        Path::new(TEMPORARY).join(name)
    }

    /// Returns the answer, if there is one yet.
    pub fn read(&self, pid: u32) -> Result<Option<Answered>, Error> {
        Answered::read(pid, self.file.as_file())
    }
}

/// Removes the files of killed clients.
fn sweep(folder: &Folder) {
    let user = geteuid().as_raw();
    for name in folder.names(REPLY) {
        let Ok(file) = folder.open(&name, user, OFlags::RDWR) else {
            continue;
        };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok() {
            folder.remove(&name);
        }
    }
}
