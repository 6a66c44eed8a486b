//! A dump of the heap of a running program, which nobody keeps.
//!
//! A forked copy of the program writes the dump into a private folder, from where it is opened and removed at once: whatever
//! ends this command, nothing is left.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hprof_format::printable;
use tempfile::TempDir;

use super::{Consent, Library, Program, Session};
use crate::failure::Failure;
use crate::interrupts::BeforeTheEnd;

/// A dump of a running program, which is gone when the value is dropped.
pub struct LiveDump {
    _file: File,
    path: PathBuf,
}

impl LiveDump {
    /// Has a copy of the program dump its heap. If there can be none, the program itself does it, if the user agrees or would not
    /// notice.
    pub fn of(program: &Program, library: &Library, consent: &Consent) -> Result<Self, Failure> {
        let session = Session::with(program, library)?;
        let may_stop = consent.is_given() || !session.notices_dump();
        let folder = private_folder()?;
        let file = folder.path().join("heap.hprof");
        let removed = folder.path().to_owned();
        let _end = BeforeTheEnd::call(move || drop(fs::remove_dir_all(removed)));
        session.announce_copy(&std::env::temp_dir());
        let how = session.dump_heap(&file, may_stop)?;
        let line = format!("{}: {how}", session.name());
        let _ = writeln!(io::stderr(), "hprof: {}", printable(&line));
        let opened = File::open(&file).map_err(|error| Failure::about(&file, error))?;
        Ok(Self {
            path: PathBuf::from(format!("/proc/self/fd/{}", opened.as_raw_fd())),
            _file: opened,
        })
    }

    /// Returns the path of the dump, which is gone when the value is dropped.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns a folder that only the program's user can open, who is this process's user by now.
fn private_folder() -> Result<TempDir, Failure> {
    let parent = std::env::temp_dir();
    let permissions = fs::Permissions::from_mode(0o700);
    let folder = tempfile::Builder::new()
        .prefix("hprof-")
        .permissions(permissions)
        .tempdir_in(&parent);
    folder.map_err(|error| Failure::about(&parent, error))
}
