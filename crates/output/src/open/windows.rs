//! Opens the file of `file=`, so that nobody else gets the profile.

mod error;

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read};
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use hprof_os::files;

pub use error::FileError;
pub(super) use error::Opened;

/// The number of names tried for a file that replaces another.
const NAMES: u32 = 100;
/// The bytes by which the kind of a file is recognized.
const FIRST_BYTES: u64 = 64;
/// What others may do with a file that is written: read it, and rename or remove it (`FILE_SHARE_READ`, `FILE_SHARE_DELETE`).
const SHARED: u32 = 1 | 4;
/// The error of an opening that somebody else has not allowed (`ERROR_SHARING_VIOLATION`).
const NOT_SHARED: i32 = 32;

/// Creates the file, or opens an existing one, which is left unchanged for now.
pub(super) fn open(path: &Path) -> Result<Opened, FileError> {
    match create_new(path) {
        Err(error) if error.exists_already() => {}
        // The rights of a device cannot be chosen.
        Err(_) if opens_as_device(path) => {}
        created => return created,
    }
    let mut options = OpenOptions::new();
    options.write(true).share_mode(SHARED);
    let file = options.open(path).map_err(in_use)?;
    if !files::is_of_disk(&file) {
        return Ok(Opened {
            file,
            is_plain: false,
            is_pipe: false,
            found_at: None,
        });
    }
    if fs::symlink_metadata(path)?.is_symlink() || !files::is_ours_alone(&file) {
        return Err(FileError::ForeignLink);
    }
    Ok(Opened {
        file,
        is_plain: true,
        is_pipe: false,
        found_at: Some(path.to_owned()),
    })
}

fn opens_as_device(path: &Path) -> bool {
    let opened = OpenOptions::new().write(true).open(path);
    opened.is_ok_and(|file| !files::is_of_disk(&file))
}

fn in_use(error: io::Error) -> FileError {
    match error.raw_os_error() {
        Some(NOT_SHARED) => FileError::InUse,
        _ => error.into(),
    }
}

/// Puts a new file, empty and private, in the place of `old`. If the system does not allow it, as while somebody reads the old one, that is
/// truncated instead.
pub(super) fn replace(old: File, path: &Path) -> io::Result<File> {
    let folder = path.parent().unwrap_or(Path::new(""));
    let process = std::process::id();
    for number in 0..NAMES {
        let temporary: PathBuf = folder.join(format!(".hprof-{process}-{number}"));
        let new = match files::create_new(&temporary) {
            Ok(new) => new,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => continue,
            Err(_) => break,
        };
        if fs::rename(&temporary, path).is_ok() {
            return Ok(new);
        }
        drop(new);
        // The file is empty, and ours.
        let _ = fs::remove_file(&temporary);
        break;
    }
    old.set_len(0)?;
    Ok(old)
}

/// Creates the file; fails if there is a file or a link.
pub(super) fn create_new(path: &Path) -> Result<Opened, FileError> {
    let file = files::create_new(path).map_err(in_use)?;
    let is_plain = files::is_of_disk(&file);
    Ok(Opened {
        file,
        is_plain,
        is_pipe: false,
        found_at: None,
    })
}

/// Creates a file that only this user can read, and opens it for reading and writing. That it exists already, as a link
/// too, is an error.
pub fn create_private(path: &Path) -> io::Result<File> {
    files::create_new(path)
}

/// Returns `true` if there is nothing at a path, or a regular file that `is_of_kind` accepts by its first bytes. A
/// link is not followed.
pub fn may_be_replaced(path: &Path, is_of_kind: impl FnOnce(&[u8]) -> bool) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => return Ok(false),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(true),
        found => found?,
    };
    let mut first = Vec::new();
    File::open(path)?
        .take(FIRST_BYTES)
        .read_to_end(&mut first)?;
    Ok(is_of_kind(&first))
}
