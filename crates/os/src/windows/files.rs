//! Files by their handles.

use std::ffi::OsString;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::windows::ffi::{OsStrExt, OsStringExt};
use std::os::windows::fs::{FileExt, OpenOptionsExt};
use std::os::windows::io::{AsHandle, AsRawHandle};
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS,
    FILE_FLAG_OPEN_REPARSE_POINT, FILE_TYPE_DISK, FileBasicInfo, GetDiskFreeSpaceExW,
    GetFileInformationByHandle, GetFileInformationByHandleEx, GetFileType,
    GetFinalPathNameByHandleW, MOVEFILE_WRITE_THROUGH, MoveFileExW,
};

use super::security;

/// `true` if the system sets the position in a pipe without an error.
pub const SEEKS_IN_PIPES: bool = true;

/// What distinguishes a file from others: the volume and the number of the file there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileId {
    volume: u32,
    number: u64,
}

/// Returns what distinguishes a file from others.
///
/// # Errors
/// If it is no file of a disk.
pub fn id(file: &File) -> io::Result<FileId> {
    let found = information(file)?;
    Ok(FileId {
        volume: found.dwVolumeSerialNumber,
        number: number_of(&found),
    })
}

pub(crate) fn id_of_path(path: &Path) -> io::Result<FileId> {
    // No access at all, and a folder as well.
    let mut options = OpenOptions::new();
    options
        .access_mode(0)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS);
    id(&options.open(path)?)
}

fn information(file: &File) -> io::Result<BY_HANDLE_FILE_INFORMATION> {
    let mut found = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the place is that of what the call writes.
    let known = unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut found) };
    match known {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(found),
    }
}

fn number_of(found: &BY_HANDLE_FILE_INFORMATION) -> u64 {
    u64::from(found.nFileIndexHigh) << 32 | u64::from(found.nFileIndexLow)
}

/// The numbers that change whenever a file does, or another one takes its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    /// The length in bytes.
    pub length: u64,
    /// The number of the file on its volume.
    pub number: u64,
    /// When the content was changed, in units of 100 ns.
    pub modified: u64,
    /// When anything about the file was changed, in units of 100 ns; 0 on file systems that do not keep it.
    pub changed: u64,
}

/// Returns the state of a file.
///
/// # Errors
/// If it is no file of a disk.
pub fn state(file: &File) -> io::Result<FileState> {
    let found = information(file)?;
    let mut times = FILE_BASIC_INFO::default();
    let size = u32::try_from(size_of::<FILE_BASIC_INFO>()).unwrap_or_default();
    // SAFETY: the handle is open, and place and size are those of what the call writes.
    let known = unsafe {
        GetFileInformationByHandleEx(
            file.as_raw_handle(),
            FileBasicInfo,
            (&raw mut times).cast(),
            size,
        )
    };
    if known == 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(FileState {
        length: u64::from(found.nFileSizeHigh) << 32 | u64::from(found.nFileSizeLow),
        number: number_of(&found),
        modified: times.LastWriteTime.cast_unsigned(),
        changed: times.ChangeTime.cast_unsigned(),
    })
}

/// Reads from a place in a file. Its position stays, unless another thread changes it meanwhile.
///
/// # Errors
/// Those of `ReadFile`.
pub fn read_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<usize> {
    keeping_position(file, || match file.seek_read(bytes, start) {
        // The end of the file.
        Err(error) if error.raw_os_error() == Some(38) => Ok(0),
        read => read,
    })
}

/// Writes to a place in a file. Its position stays, unless another thread changes it meanwhile.
///
/// # Errors
/// Those of `WriteFile`.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut start: u64) -> io::Result<()> {
    keeping_position(file, || {
        while !bytes.is_empty() {
            match file.seek_write(bytes, start)? {
                0 => return Err(io::ErrorKind::WriteZero.into()),
                count => {
                    bytes = &bytes[count..];
                    start += count as u64;
                }
            }
        }
        Ok(())
    })
}

/// Reading and writing at a place moves the position of the handle.
fn keeping_position<T>(mut file: &File, access: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    let position = file.stream_position()?;
    let result = access();
    file.seek(SeekFrom::Start(position))?;
    result
}

/// Opens a file. No file of this system is waited for.
///
/// # Errors
/// Those of `CreateFileW`.
pub fn open_at_once(options: &mut OpenOptions, path: &Path) -> io::Result<File> {
    options.open(path)
}

/// Opens a file for reading; a link is an error.
///
/// # Errors
/// Those of `CreateFileW`.
pub fn open_no_link(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options
        .read(true)
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT);
    let file = options.open(path)?;
    match file.metadata()?.is_symlink() {
        true => Err(io::Error::other("is a link, which is not followed")),
        false => Ok(file),
    }
}

/// Opens a file for reading; a link anywhere in its path is an error. The path must be absolute, as that of
/// [`std::fs::canonicalize`].
///
/// # Errors
/// Those of `CreateFileW`.
pub fn open_without_links(path: &Path) -> io::Result<File> {
    let file = open_no_link(path)?;
    // What was opened has another path than its name if a folder in it was a link.
    match final_path(&file)? == path.canonicalize()? && plain(&final_path(&file)?) == plain(path) {
        true => Ok(file),
        false => Err(io::Error::other(
            "a link leads there, which is not followed",
        )),
    }
}

/// Returns a path without the prefix for long ones, in small letters: names differ by more than their case.
fn plain(path: &Path) -> String {
    let path = path.to_string_lossy();
    let path = path.strip_prefix(r"\\?\").unwrap_or(&path);
    path.replace('/', r"\").to_lowercase()
}

/// Returns the path of what was opened.
fn final_path(file: &File) -> io::Result<PathBuf> {
    let mut path = vec![0_u16; 512];
    loop {
        let room = u32::try_from(path.len()).unwrap_or(u32::MAX);
        // SAFETY: the handle is open, and `path` has as much room as the call is told.
        let length =
            unsafe { GetFinalPathNameByHandleW(file.as_raw_handle(), path.as_mut_ptr(), room, 0) };
        match length as usize {
            0 => return Err(io::Error::last_os_error()),
            length if length < path.len() => {
                path.truncate(length);
                return Ok(OsString::from_wide(&path).into());
            }
            length => path.resize(length + 1, 0),
        }
    }
}

/// Returns the standard input as a file.
///
/// # Errors
/// If there are no more handles.
pub fn standard_input() -> io::Result<File> {
    Ok(io::stdin().as_handle().try_clone_to_owned()?.into())
}

/// Returns `true` if it is a file of a disk, and neither a device nor a pipe.
#[must_use]
pub fn is_of_disk(file: &File) -> bool {
    // SAFETY: the handle is open.
    unsafe { GetFileType(file.as_raw_handle()) == FILE_TYPE_DISK }
}

/// Returns `true` if the file belongs to this user. Who may write to it is not looked at: that is inherited from its folder,
/// which is one of the user's profile, or one that the user chose.
#[must_use]
pub fn is_ours_alone(file: &File) -> bool {
    security::is_own(file).unwrap_or(false)
}

/// Makes a file of this user, which was opened by [`super::private_file::create_new`], readable and writable by nobody else.
///
/// # Errors
/// If the rights cannot be changed.
pub fn make_private(file: &File) -> io::Result<()> {
    security::make_private(file)
}

/// Returns the number of bytes that are free on the disk of a file, for this user.
///
/// # Errors
/// If the system does not reveal it.
pub fn free_space(file: &File) -> io::Result<u64> {
    let path = final_path(file)?;
    free_space_of(path.parent().unwrap_or(&path))
}

/// Returns the number of bytes that are free on the disk of a folder, for this user.
///
/// # Errors
/// If the system does not reveal it.
pub fn free_space_of(folder: &Path) -> io::Result<u64> {
    let folder = wide(folder);
    let mut free = 0;
    // SAFETY: the path ends with 0, and the place is that of a number.
    let known = unsafe {
        GetDiskFreeSpaceExW(
            folder.as_ptr(),
            &raw mut free,
            std::ptr::null_mut(),
            std::ptr::null_mut(),
        )
    };
    match known {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(free),
    }
}

/// Returns a path as the system takes it, with a 0 at its end.
pub(super) fn wide(path: &Path) -> Vec<u16> {
    // Without the prefix, a path has at most 260 letters.
    let long = std::path::absolute(path).ok().map(|absolute| {
        let is_local = absolute.as_os_str().as_encoded_bytes().get(1) == Some(&b':');
        match is_local {
            true => {
                let mut long = OsString::from(r"\\?\");
                long.push(absolute);
                PathBuf::from(long)
            }
            false => absolute,
        }
    });
    let path = long.as_deref().unwrap_or(path);
    path.as_os_str().encode_wide().chain([0]).collect()
}

/// Returns the most bytes that a file of this process may have: the system has no such limit.
#[must_use]
pub fn longest() -> u64 {
    u64::MAX
}

/// Makes a new file `length` bytes long, all zero, and reserves its clusters.
///
/// # Errors
/// If the disk has no room for them.
pub fn reserve(file: &File, length: u64) -> io::Result<()> {
    file.set_len(length)
}

/// Renames a file without replacing another one.
///
/// # Errors
/// [`io::ErrorKind::AlreadyExists`] if there is another one.
pub fn rename_to_new(old: &Path, new: &Path) -> io::Result<()> {
    let (old, new) = (wide(old), wide(new));
    // SAFETY: both paths end with 0.
    let moved = unsafe { MoveFileExW(old.as_ptr(), new.as_ptr(), MOVEFILE_WRITE_THROUGH) };
    match moved {
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

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

/// Returns `false`: folders are on disks.
#[must_use]
pub fn is_in_memory(_: &Path) -> bool {
    false
}
