//! Files that only this user can read.

use std::fs::{self, File};
use std::io;
use std::os::windows::io::{FromRawHandle, OwnedHandle};
use std::path::Path;
use std::ptr;

use windows_sys::Win32::Foundation::{GENERIC_READ, GENERIC_WRITE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::Storage::FileSystem::{
    CREATE_NEW, CreateFileW, FILE_ATTRIBUTE_NORMAL, FILE_CREATION_DISPOSITION, FILE_SHARE_DELETE,
    FILE_SHARE_READ, OPEN_ALWAYS, READ_CONTROL, WRITE_DAC,
};

use super::{files, security};

/// Creates a file, for reading too; that it exists already, as a link too, is an error. Nobody else may open it, and nobody at
/// all may write to it while it is open here.
///
/// # Errors
/// Those of `CreateFileW`.
pub fn create_new(path: &Path) -> io::Result<File> {
    open(path, CREATE_NEW)
}

/// Creates the file, or truncates it unless `refuse` returns an error. A link, and a file that belongs to another user, is an
/// error, and is left unchanged; devices and pipes are opened as they are.
///
/// # Errors
/// Those of `refuse` and `CreateFileW`, and if it belongs to somebody else.
pub fn create(path: &Path, refuse: impl FnOnce(&File) -> io::Result<()>) -> io::Result<File> {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) {
        return Err(io::Error::other(
            "is a link, which is not followed; name the file that it leads to",
        ));
    }
    let file = match open(path, OPEN_ALWAYS) {
        Ok(file) => file,
        // The rights of a device cannot be asked for.
        Err(error) => match File::options().write(true).open(path) {
            Ok(device) if !files::is_of_disk(&device) => return Ok(device),
            _ => return Err(error),
        },
    };
    if !files::is_of_disk(&file) {
        return Ok(file);
    }
    if !security::is_own(&file)? {
        return Err(io::Error::other(
            "is there and belongs to another user, who would see what is written; remove it, or name another file",
        ));
    }
    refuse(&file)?;
    security::make_private(&file)?;
    file.set_len(0)?;
    Ok(file)
}

fn open(path: &Path, how: FILE_CREATION_DISPOSITION) -> io::Result<File> {
    let rights = security::OwnerAlone::new()?;
    let attributes = rights.attributes();
    let name = files::wide(path);
    // SAFETY: the path ends with 0, and the attributes and what they point to live until the call returns.
    let opened = unsafe {
        CreateFileW(
            name.as_ptr(),
            GENERIC_READ | GENERIC_WRITE | READ_CONTROL | WRITE_DAC,
            FILE_SHARE_READ | FILE_SHARE_DELETE,
            &raw const attributes,
            how,
            FILE_ATTRIBUTE_NORMAL,
            ptr::null_mut(),
        )
    };
    match opened {
        INVALID_HANDLE_VALUE => Err(io::Error::last_os_error()),
        // SAFETY: the handle is open, and nobody else's.
        handle => Ok(unsafe { OwnedHandle::from_raw_handle(handle) }.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek, Write};

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn a_new_file_is_this_users_and_never_replaces_another() {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("new");
        let mut file = create_new(&path).expect("a file");
        file.write_all(b"content").expect("room for it");
        file.rewind().expect("a file");
        let mut text = String::new();
        file.read_to_string(&mut text).expect("a file");
        assert_eq!(text, "content");
        assert!(files::is_ours_alone(&file));
        let refused = create_new(&path).expect_err("it is there");
        assert_eq!(refused.kind(), io::ErrorKind::AlreadyExists);
        // It can be read, but not written to, while it is written here.
        assert_eq!(fs::read(&path).expect("it is ours"), b"content");
        assert!(File::options().write(true).open(&path).is_err());
    }

    #[test]
    fn what_is_refused_keeps_its_content() {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("file");
        fs::write(&path, "old").expect("a file");
        let refused = create(&path, |_| Err(io::Error::other("no")));
        assert_eq!(refused.expect_err("it is refused").to_string(), "no");
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "old");
        drop(create(&path, |_| Ok(())).expect("it is ours"));
        assert_eq!(fs::read_to_string(&path).expect("it is there"), "");
        create(Path::new("NUL"), |_| Ok(())).expect("it is everybody's");
    }
}
