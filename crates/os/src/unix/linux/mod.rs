//! What Linux alone has.

use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FsWord, Mode, OFlags, ResolveFlags, linkat, openat2, readlinkat};
use rustix::io::Errno;

use super::private_file::Link;

mod free_memory;

pub(super) use free_memory::free as free_memory;

/// Creates a file for this user alone that has no name yet: nothing of it stays, however the process ends.
///
/// # Errors
/// If the file system has no such files, as NFS.
pub fn unnamed(folder: &Path) -> io::Result<File> {
    let (flags, mode) = (OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC, Mode::RUSR);
    Ok(rustix::fs::open(folder, flags, mode | Mode::WUSR)?.into())
}

/// Gives a name to a file of [`unnamed`].
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if the name is taken.
pub fn name(file: &File, path: &Path) -> io::Result<()> {
    let own = PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd()));
    Ok(linkat(CWD, &own, CWD, path, AtFlags::SYMLINK_FOLLOW)?)
}

/// Returns `true` if what is in a folder takes memory instead of a disk.
#[must_use]
pub fn is_in_memory(folder: &Path) -> bool {
    const TMPFS: FsWord = 0x0102_1994;
    rustix::fs::statfs(folder).is_ok_and(|found| found.f_type == TMPFS)
}

/// Opens a file for reading; a link anywhere in its path is an error.
///
/// # Errors
/// Those of `openat2`.
pub fn open_without_links(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    match openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS) {
        // A kernel before 5.6, or a container whose rules are older than the call.
        Err(Errno::NOSYS | Errno::PERM) => {
            Ok(rustix::fs::open(path, flags | OFlags::NOFOLLOW, Mode::empty())?.into())
        }
        opened => Ok(opened?.into()),
    }
}

/// Looks at a link, not at what it leads to.
pub(super) fn link(path: &Path) -> io::Result<Link> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let link = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let found = link.metadata()?;
    // A descriptor, which has a target but no path. Nobody can exchange it.
    let is_descriptor = fs::metadata("/proc/self").is_ok_and(|proc| proc.dev() == found.dev());
    let target = match is_descriptor {
        true => None,
        false => {
            let target = readlinkat(&link, "", Vec::new())?;
            Some(std::ffi::OsString::from_vec(target.into_bytes()).into())
        }
    };
    Ok(Link {
        owner: found.uid(),
        target,
    })
}

/// Returns the mask of the signals that this process ignores.
pub(super) fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status
        .lines()
        .find_map(|line| line.strip_prefix("SigIgn:"))
        .and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.unwrap_or(0)
}

/// Returns the folder that is the user's for what can be made anew.
pub(super) fn cache() -> Option<PathBuf> {
    super::folders::cache_below(".cache")
}
