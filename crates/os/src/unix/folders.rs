//! Folders of this user.

use std::env;
use std::fs::{DirBuilder, File};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, renameat, unlinkat};
use rustix::process::geteuid;
use tempfile::TempDir;

/// Creates a folder that is for this user alone, and those above it that are missing.
///
/// # Errors
/// If there can be none. That it is there already is no error.
pub fn create_private(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Returns the user's folder for what can be made anew.
#[must_use]
pub fn cache() -> Option<PathBuf> {
    let named = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    named
        .filter(|folder| folder.is_absolute())
        .or_else(super::own::cache)
}

pub(super) fn cache_below(name: &str) -> Option<PathBuf> {
    Some(PathBuf::from(env::var_os("HOME")?).join(name))
}

/// A folder for files of known names, which is removed with them on drop.
///
/// Another user may write to the folder that it is in, and put something else in its place. So its files are created, moved
/// and removed through its descriptor, and nothing else is removed.
pub struct Temporary {
    path: PathBuf,
    folder: OwnedFd,
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
        Temporary::of(made)
    }

    fn of(made: TempDir) -> io::Result<Temporary> {
        let path = made.keep();
        let flags = OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::RDONLY | OFlags::CLOEXEC;
        let folder = File::from(rustix::fs::open(&path, flags, Mode::empty())?);
        if folder.metadata()?.uid() != geteuid().as_raw() {
            return Err(io::Error::other(
                "another user has put a folder in its place",
            ));
        }
        Ok(Temporary {
            path,
            folder: folder.into(),
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
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.folder, name, flags, Mode::RUSR | Mode::WUSR)?;
        self.names.push(name);
        Ok(file.into())
    }

    /// Moves a file, in place of another one if there is one.
    ///
    /// # Errors
    /// Those of `renameat`.
    pub fn publish(&self, name: &str, to: &Path) -> io::Result<()> {
        Ok(renameat(&self.folder, name, CWD, to)?)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        for name in &self.names {
            // Most have been moved.
            let _ = unlinkat(&self.folder, *name, AtFlags::empty());
        }
        // Of what is there now, only an empty folder is removed.
        let _ = std::fs::remove_dir(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Write;
    use std::os::unix::fs::symlink;

    use super::*;

    /// Two folders in one: the temporary one, and one with something that is not to be lost.
    fn beside_something() -> (TempDir, Temporary, PathBuf) {
        let parent = TempDir::new().expect("a folder");
        let precious = parent.path().join("precious");
        fs::create_dir(&precious).expect("a folder");
        fs::write(precious.join("run"), "what was there").expect("a file");
        let temporary = Temporary::new(parent.path()).expect("a folder");
        (parent, temporary, precious)
    }

    #[test]
    fn files_are_published_and_the_rest_is_removed() {
        let (parent, mut temporary, _) = beside_something();
        let mut file = temporary.create("run").expect("a file");
        temporary.create("label").expect("a file");
        file.write_all(b"new").expect("it takes that");
        let to = parent.path().join("run.parquet");
        temporary.publish("run", &to).expect("it is there");
        let path = temporary.path().to_owned();
        drop(temporary);
        assert_eq!(fs::read_to_string(to).expect("a file"), "new");
        assert!(!path.exists());
    }

    #[test]
    fn what_is_put_in_its_place_stays() {
        for is_link in [false, true] {
            let (parent, mut temporary, precious) = beside_something();
            let path = temporary.path().to_owned();
            fs::rename(&path, parent.path().join("away")).expect("it is ours");
            match is_link {
                true => symlink("precious", &path).expect("a link"),
                false => fs::rename(&precious, &path).expect("it is ours"),
            }
            temporary.create("run").expect("where it was made");
            assert!(parent.path().join("away/run").exists());
            drop(temporary);
            let left = fs::read_to_string(path.join("run")).expect("it is there");
            assert_eq!(left, "what was there");
            assert!(!parent.path().join("away/run").exists());
        }
    }
}
