//! Folders of this user.

use std::env;
use std::fs::{self, File};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::{
    CreateDirectoryW, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_SHARE_READ,
    FILE_SHARE_WRITE,
};

use super::{files, private_file, security};

/// Creates a folder that is for this user alone, and those above it that are missing.
///
/// # Errors
/// If there can be none. That it is there already is no error.
pub fn create_private(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        return Ok(());
    }
    if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
        create_private(above)?;
    }
    let rights = security::OwnerAlone::new()?;
    let attributes = rights.attributes();
    // SAFETY: the path ends with 0, and the attributes and what they point to live until the call returns.
    let made = unsafe { CreateDirectoryW(files::wide(path).as_ptr(), &raw const attributes) };
    match made {
        0 if path.is_dir() => Ok(()),
        0 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Returns the user's folder for what can be made anew.
#[must_use]
pub fn cache() -> Option<PathBuf> {
    env::var_os("LOCALAPPDATA").map(PathBuf::from)
}

/// A folder for files of known names, which is removed with them on drop.
///
/// As long as it is open, nobody can move or remove it, and so nobody can put something else in its place.
pub struct Temporary {
    path: PathBuf,
    folder: Option<File>,
    names: Vec<&'static str>,
}

impl Temporary {
    /// Creates one in `parent`.
    ///
    /// # Errors
    /// If there can be none.
    pub fn new(parent: &Path) -> io::Result<Temporary> {
        let made = tempfile::Builder::new()
            .prefix(".hprof-")
            .tempdir_in(parent)?;
        let path = made.keep();
        let folder = File::options()
            .read(true)
            .share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE)
            .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
            .open(&path)?;
        if folder.metadata()?.is_symlink() || !security::is_own(&folder)? {
            return Err(io::Error::other(
                "another user has put a folder in its place",
            ));
        }
        Ok(Temporary {
            path,
            folder: Some(folder),
            names: Vec::new(),
        })
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Creates a file, which only its owner can read.
    ///
    /// # Errors
    /// If it is there already, or the disk is full.
    pub fn create(&mut self, name: &'static str) -> io::Result<File> {
        let file = private_file::create_new(&self.path.join(name))?;
        self.names.push(name);
        Ok(file)
    }

    /// Moves a file, in place of another one if there is one.
    ///
    /// # Errors
    /// Those of `MoveFileExW`.
    pub fn publish(&self, name: &str, to: &Path) -> io::Result<()> {
        fs::rename(self.path.join(name), to)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        for name in &self.names {
            // Most have been moved.
            let _ = fs::remove_file(self.path.join(name));
        }
        // What is open cannot be removed.
        self.folder = None;
        // Of what is there now, only an empty folder is removed.
        let _ = fs::remove_dir(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::TempDir;

    use super::*;

    #[test]
    fn files_are_published_and_the_rest_is_removed() {
        let parent = TempDir::new().expect("a folder");
        let mut temporary = Temporary::new(parent.path()).expect("a folder");
        let mut file = temporary.create("run").expect("a file");
        temporary.create("label").expect("a file");
        file.write_all(b"new").expect("it takes that");
        let to = parent.path().join("run.parquet");
        temporary.publish("run", &to).expect("it is there");
        let path = temporary.path().to_owned();
        drop((temporary, file));
        assert_eq!(fs::read_to_string(to).expect("a file"), "new");
        assert!(!path.exists());
    }

    #[test]
    fn nothing_can_be_put_in_its_place() {
        let parent = TempDir::new().expect("a folder");
        let temporary = Temporary::new(parent.path()).expect("a folder");
        let away = parent.path().join("away");
        assert!(fs::rename(temporary.path(), away).is_err());
        assert!(temporary.path().is_dir());
    }

    #[test]
    fn a_private_folder_is_made_with_those_above_it() {
        let parent = TempDir::new().expect("a folder");
        let folder = parent.path().join("a/b");
        create_private(&folder).expect("room for it");
        create_private(&folder).expect("it is there");
        fs::write(folder.join("file"), "new").expect("it is ours");
    }
}
