//! Files by their descriptors.

use std::fs::{File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{CWD, FallocateFlags, Mode, OFlags, RenameFlags, renameat_with};
use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getrlimit};

pub use super::own::{is_in_memory, name, open_without_links, unnamed};

/// `true` if the system sets the position in a pipe without an error.
pub const SEEKS_IN_PIPES: bool = false;

/// What distinguishes a file from others: the device, the inode, and the owner. A new file may have the number of one that was
/// removed, but not one of another user the same owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    device: u64,
    number: u64,
    owner: u32,
}

impl FileId {
    #[allow(
        clippy::unnecessary_cast,
        clippy::useless_conversion,
        reason = "the width depends on the system"
    )]
    fn of(found: &Metadata) -> FileId {
        FileId {
            device: found.dev(),
            number: found.ino(),
            owner: found.uid(),
        }
    }
}

/// Returns what distinguishes a file from others.
///
/// # Errors
/// Those of `fstat`.
pub fn id(file: &File) -> io::Result<FileId> {
    file.metadata().map(|found| FileId::of(&found))
}

pub(crate) fn id_of_path(path: &Path) -> io::Result<FileId> {
    std::fs::metadata(path).map(|found| FileId::of(&found))
}

/// The numbers that change whenever a file does, or another one takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// The length in bytes.
    pub length: u64,
    /// The number of the file on its device.
    pub number: u64,
    /// When the content was changed, in nanoseconds.
    pub modified: u64,
    /// When anything about the file was changed, in nanoseconds. No program can set it.
    pub changed: u64,
}

/// Returns the state of a file.
///
/// # Errors
/// Those of `fstat`.
pub fn state(file: &File) -> io::Result<FileState> {
    let found = file.metadata()?;
    let nanoseconds = |seconds: i64, rest: i64| {
        let seconds = seconds.wrapping_mul(1_000_000_000);
        seconds.wrapping_add(rest).cast_unsigned()
    };
    Ok(FileState {
        length: found.len(),
        number: found.ino(),
        modified: nanoseconds(found.mtime(), found.mtime_nsec()),
        changed: nanoseconds(found.ctime(), found.ctime_nsec()),
    })
}

/// Reads from a place in a file, whose position stays.
///
/// # Errors
/// Those of `pread`.
pub fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<usize> {
    file.read_at(bytes, start)
}

/// Writes to a place in a file, whose position stays.
///
/// # Errors
/// Those of `pwrite`.
pub fn write_all_at(file: &File, bytes: &[u8], start: u64) -> io::Result<()> {
    file.write_all_at(bytes, start)
}

/// Opens a file; does not wait, even if it is a pipe without a writer.
///
/// # Errors
/// Those of `open`.
pub fn open_at_once(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK.bits().cast_signed();
    options.custom_flags(flags).open(path)
}

/// Opens a file for reading; a link is an error, and a pipe is not waited for.
///
/// # Errors
/// Those of `open`.
pub fn open_no_link(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Returns the standard input as a file.
///
/// # Errors
/// If there are no more descriptors.
pub fn standard_input() -> io::Result<File> {
    Ok(io::stdin().as_fd().try_clone_to_owned()?.into())
}

/// Returns `true` if the file belongs to this user, and no other may write to it.
#[must_use]
pub fn is_ours_alone(file: &File) -> bool {
    file.metadata()
        .is_ok_and(|found| found.uid() == geteuid().as_raw() && found.mode() & 0o022 == 0)
}

/// Makes a file of this user readable and writable by nobody else.
///
/// # Errors
/// Those of `fchmod`.
pub fn make_private(file: &File) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(0o600))
}

/// Returns the number of bytes that are free on the disk of a file, for this user.
///
/// # Errors
/// Those of `fstatvfs`.
pub fn free_space(file: &File) -> io::Result<u64> {
    let found = rustix::fs::fstatvfs(file)?;
    Ok(found.f_bavail.saturating_mul(found.f_frsize))
}

/// Returns the most bytes that a file of this process may have: beyond that, the system ends the process.
#[must_use]
pub fn longest() -> u64 {
    getrlimit(Resource::Fsize).current.unwrap_or(u64::MAX)
}

/// Makes a new file `length` bytes long, all zero, and reserves their blocks.
///
/// # Errors
/// If the disk has no room for them.
pub fn reserve(file: &File, length: u64) -> io::Result<()> {
    Ok(rustix::fs::fallocate(
        file,
        FallocateFlags::empty(),
        0,
        length,
    )?)
}

/// Renames a file without replacing another one.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is another one.
pub fn rename_to_new(old: &Path, new: &Path) -> io::Result<()> {
    match renameat_with(CWD, old, CWD, new, RenameFlags::NOREPLACE) {
        // Not every file system can do that.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => match new.symlink_metadata() {
            Ok(_) => Err(io::ErrorKind::AlreadyExists.into()),
            Err(_) => std::fs::rename(old, new),
        },
        renamed => Ok(renamed?),
    }
}
