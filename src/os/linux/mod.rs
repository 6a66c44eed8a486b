//! Linux.

pub(crate) mod activity;
mod arguments;
pub(crate) mod descriptors;
pub(crate) mod options;

use std::ffi::CString;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;
use rustix::rand::{GetRandomFlags, getrandom};

pub(crate) use arguments::arguments;
pub(crate) use rustix::param::page_size;

/// A file's device and inode numbers, by which it is recognized.
pub(crate) type FileId = (u64, u64);

/// `true` if the system says where the memory of the process is.
pub(crate) const TELLS_OF_MEMORY: bool = true;

/// `true` if a file that is open keeps its folder from being removed, although it has been removed itself.
pub(crate) const OPEN_FILES_KEEP_THEIR_NAMES: bool = false;

/// Opens a file for reading. A pipe is not waited for.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NONBLOCK).open(path)
}

/// Opens a file for writing. A pipe is not waited for, and a link is an error.
pub(crate) fn open_for_reply(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
}

/// Returns what a regular file is recognized by.
pub(crate) fn id_of_file(path: &Path) -> Option<FileId> {
    let found = fs::symlink_metadata(path).ok()?;
    found.is_file().then(|| (found.dev(), found.ino()))
}

/// Returns the bytes that are free on the disk of a folder, for this user; `None` if the system does not know.
pub(crate) fn free_space(folder: &Path) -> Option<u64> {
    let found = statvfs(folder).ok()?;
    Some(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Fills a key with bytes that nobody can guess.
pub(crate) fn fill_with_random_bytes(key: &mut [u8]) -> io::Result<()> {
    let mut filled = 0;
    while filled < key.len() {
        filled += getrandom(&mut key[filled..], GetRandomFlags::empty())?;
    }
    Ok(())
}

/// Reads bytes of a file, from an offset on.
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// Returns `true` if there is a process of this number.
pub(crate) fn process_is_there(number: u32) -> bool {
    Path::new("/proc").join(number.to_string()).exists()
}

/// Returns a path as the VM wants it.
pub(crate) fn c_path(path: PathBuf) -> io::Result<CString> {
    CString::new(path.into_os_string().into_vec()).map_err(io::Error::from)
}

/// A folder of this user. Where others may change its parent, its path may lead to another folder by now, but its handle
/// does not.
pub(crate) struct PrivateFolder {
    path: PathBuf,
    handle: File,
}

impl PrivateFolder {
    /// Creates a folder that only this user can access.
    pub(crate) fn create(path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    /// Opens a folder of this user; a link is an error.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        let flags = libc::O_DIRECTORY | libc::O_NOFOLLOW;
        let handle = options.read(true).custom_flags(flags).open(path)?;
        let found = handle.metadata()?;
        // It belongs to the user of this process.
        let own = fs::metadata("/proc/self")?.uid();
        let path = path.to_owned();
        match found.uid() == own {
            true => Ok(Self { path, handle }),
            false => Err(io::ErrorKind::PermissionDenied.into()),
        }
    }

    /// Locks it; returns `false` if somebody else has, or the file system has no locks.
    pub(crate) fn try_lock(&self) -> bool {
        self.handle.try_lock().is_ok()
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns a path that leads to it and nowhere else.
    pub(crate) fn by_handle(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.handle.as_raw_fd()).into()
    }
}
