//! What macOS has in place of what Linux has.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::ptr;

use rustix::fs::{Mode, OFlags};

use super::private_file::Link;

/// Fails: the system has no files without a name that can get one later.
///
/// # Errors
/// Always.
pub fn unnamed(_: &Path) -> io::Result<File> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Fails, as [`unnamed`] does.
///
/// # Errors
/// Always.
pub fn name(_: &File, _: &Path) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns `false`: the usual folders are on disks.
#[must_use]
pub fn is_in_memory(_: &Path) -> bool {
    false
}

/// Opens a file for reading; a link anywhere in its path is an error.
///
/// # Errors
/// Those of `open`.
pub fn open_without_links(path: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NOFOLLOW_ANY;
    Ok(rustix::fs::open(path, flags, Mode::empty())?.into())
}

/// Looks at a link, not at what it leads to. Its target is read between two looks at it, so that the owner is that of the link
/// that has this target.
pub(super) fn link(path: &Path) -> io::Result<Link> {
    const DESCRIPTORS: &str = "/dev/fd/";
    let look = || {
        let found = fs::symlink_metadata(path)?;
        let change = (found.ctime(), found.ctime_nsec());
        io::Result::Ok((found.uid(), found.ino(), found.dev(), change))
    };
    let found = look()?;
    let target = fs::read_link(path)?;
    if look()? != found {
        return Err(io::Error::other("is a link that is being exchanged"));
    }
    let is_descriptor = path.starts_with(DESCRIPTORS);
    Ok(Link {
        owner: found.0,
        target: (!is_descriptor).then_some(target),
    })
}

/// Returns the mask of the signals that this process ignores.
pub(super) fn ignored() -> u64 {
    let is_ignored = |signal: &i32| {
        let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: without a new action, the call only writes the one that is in force to the place it is given; all zero is
        // a valid `sigaction`.
        unsafe {
            libc::sigaction(*signal, ptr::null(), action.as_mut_ptr()) == 0
                && action.assume_init().sa_sigaction == libc::SIG_IGN
        }
    };
    let signals = [libc::SIGHUP, libc::SIGINT, libc::SIGTERM];
    let ignored = signals.into_iter().filter(is_ignored);
    ignored.fold(0, |mask, signal| mask | 1 << (signal - 1))
}

/// Returns the memory that is free, by what the system calls its level: the share in hundredths.
pub(super) fn free_memory() -> Option<u64> {
    let mut level = 0_u32;
    let mut all = 0_u64;
    // SAFETY: both names end with 0, and the places are those of numbers of the size that is handed over.
    let known = unsafe {
        let mut size = size_of::<u32>();
        let name = c"kern.memorystatus_level".as_ptr();
        let place = ptr::from_mut(&mut level).cast();
        let first = libc::sysctlbyname(name, place, &raw mut size, ptr::null_mut(), 0);
        let mut size = size_of::<u64>();
        let name = c"hw.memsize".as_ptr();
        let place = ptr::from_mut(&mut all).cast();
        let second = libc::sysctlbyname(name, place, &raw mut size, ptr::null_mut(), 0);
        first == 0 && second == 0
    };
    known.then(|| all / 100 * u64::from(level.min(100)))
}

/// Returns the folder that is the user's for what can be made anew.
pub(super) fn cache() -> Option<PathBuf> {
    super::folders::cache_below("Library/Caches")
}
