//! Windows.

pub(crate) mod activity;
pub(crate) mod descriptors;
pub(crate) mod options;

use std::ffi::CString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use hprof_os::{files, folders, process};

/// Returns the program and its arguments.
pub(crate) fn arguments() -> Vec<String> {
    let arguments = std::env::args_os();
    arguments
        .map(|argument| argument.to_string_lossy().into_owned())
        .collect()
}

/// What a file is recognized by.
pub(crate) type FileId = files::FileId;

/// `true` if the system says where the memory of the process is.
pub(crate) const TELLS_OF_MEMORY: bool = false;

/// `true` if a file that is open keeps its folder from being removed, although it has been removed itself.
pub(crate) const OPEN_FILES_KEEP_THEIR_NAMES: bool = true;

/// Opens a file for reading.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Opens a file for writing. A link is an error.
pub(crate) fn open_for_reply(path: &Path) -> io::Result<File> {
    match fs::symlink_metadata(path)?.is_symlink() {
        true => Err(io::ErrorKind::InvalidInput.into()),
        false => File::options().write(true).open(path),
    }
}

/// Returns what a regular file is recognized by.
pub(crate) fn id_of_file(path: &Path) -> Option<FileId> {
    let is_file = fs::symlink_metadata(path).ok()?.is_file();
    is_file.then(|| files::id_at(path).ok()).flatten()
}

/// Returns the bytes that are free on the disk of a folder, for this user; `None` if the system does not know.
pub(crate) fn free_space(folder: &Path) -> Option<u64> {
    files::free_space_of(folder).ok()
}

/// Fills a key with bytes that nobody can guess.
pub(crate) fn fill_with_random_bytes(key: &mut [u8]) -> io::Result<()> {
    getrandom::fill(key).map_err(|error| io::Error::other(error.to_string()))
}

/// Reads bytes of a file, from an offset on.
pub(crate) fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    match files::fill_at(file, bytes, offset)? == bytes.len() {
        true => Ok(()),
        false => Err(io::ErrorKind::UnexpectedEof.into()),
    }
}

/// Returns `true` if there is a process of this number.
pub(crate) fn process_is_there(number: u32) -> bool {
    process::is_there(number)
}

/// Returns a path as the VM wants it: in ASCII, because it decodes others in the encoding of the user's system.
pub(crate) fn c_path(path: PathBuf) -> io::Result<CString> {
    let text = path.to_str().filter(|text| text.is_ascii());
    let text =
        text.ok_or_else(|| io::Error::other("its path has other letters than those of ASCII"))?;
    CString::new(text).map_err(io::Error::from)
}

/// Returns the bytes of a page, of every processor that Windows runs on.
pub(crate) fn page_size() -> usize {
    4096
}

/// A folder of this user.
pub(crate) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    /// Creates a folder that only this user can access.
    pub(crate) fn create(path: &Path) -> io::Result<()> {
        folders::create_private(path)
    }

    /// Opens a folder; a link is an error.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        match fs::symlink_metadata(path)?.is_dir() {
            true => Ok(Self(path.to_owned())),
            false => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Returns `true`: here the number of the process says who uses it.
    pub(crate) fn try_lock(&self) -> bool {
        true
    }

    /// Returns its path.
    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Returns its path: there is no other that leads to it.
    pub(crate) fn by_handle(&self) -> PathBuf {
        self.0.clone()
    }
}
