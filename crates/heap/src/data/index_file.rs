//! The file of an index: written next to its place, published, and removed.

use std::fs::{self, DirEntry, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use hprof_os::files;
use tempfile::NamedTempFile;

use crate::data::index_head::{ANY, MAGIC, open_file};

/// How often an index that another process has published meanwhile is replaced.
const TRIES: usize = 8;
/// The beginning of the names of indexes that are being written.
const PREFIX: &str = ".hprof-index-";

/// A file that is being written, in the folder where it will be.
pub(crate) enum NewFile {
    /// It has no name: nothing stays, however the process ends.
    Unnamed(File),
    /// On file systems without such files, such as NFS, and on systems without them. What a process that was killed has left behind is removed by
    /// the next one that writes an index there.
    Named(NamedTempFile),
}

impl NewFile {
    pub(crate) fn next_to(path: &Path) -> io::Result<NewFile> {
        let folder = folder_of(path);
        match files::unnamed(folder) {
            Ok(file) => Ok(NewFile::Unnamed(file)),
            Err(_) => NewFile::named(folder),
        }
    }

    /// Creates one with a name. It is locked, so that it can be told from one that was left behind.
    fn named(folder: &Path) -> io::Result<NewFile> {
        remove_left(folder, PREFIX);
        let named = tempfile::Builder::new()
            .prefix(&own_prefix())
            .make_in(folder, files::create_new)?;
        // Where there are no locks, another process may remove it.
        let _ = named.as_file().try_lock();
        Ok(NewFile::Named(named))
    }

    pub(crate) fn file(&self) -> &File {
        match self {
            NewFile::Unnamed(file) => file,
            NewFile::Named(named) => named.as_file(),
        }
    }

    pub(crate) fn publish(self, path: &Path) -> io::Result<()> {
        let file = match self {
            NewFile::Unnamed(file) => file,
            NewFile::Named(named) => {
                named.persist(path)?;
                return Ok(());
            }
        };
        let mut tries = 0..TRIES;
        loop {
            match files::name(&file, path) {
                // A link cannot replace a file. Meanwhile there is no index, which is no harm, but another process may
                // publish its own.
                Err(error)
                    if error.kind() == io::ErrorKind::AlreadyExists && tries.next().is_some() =>
                {
                    remove_old(path)?;
                }
                published => return published,
            }
        }
    }
}

/// Removes the file in which this process was writing an index, if it has a name: the process is about to end.
pub fn remove_unfinished(index: &Path) {
    for path in files_with(folder_of(index), &own_prefix()) {
        // Nothing else can be done.
        let _ = fs::remove_file(path);
    }
}

/// Removes the files whose processes have ended: nobody holds their locks.
fn remove_left(folder: &Path, prefix: &str) {
    for path in files_with(folder, prefix) {
        let is_left = open_file(&path).is_ok_and(|file| {
            let is_file = file.metadata().is_ok_and(|found| found.is_file());
            is_file && file.try_lock().is_ok()
        });
        if is_left {
            let _ = fs::remove_file(path);
        }
    }
}

fn files_with(folder: &Path, prefix: &str) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let is_one = move |entry: &DirEntry| {
        entry
            .file_name()
            .as_encoded_bytes()
            .starts_with(prefix.as_bytes())
    };
    let found: Vec<PathBuf> = entries.filter(is_one).map(|entry| entry.path()).collect();
    found.into_iter()
}

fn own_prefix() -> String {
    format!("{PREFIX}{}-", std::process::id())
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Removes the index that is to be replaced, if it is still there.
fn remove_old(index: &Path) -> io::Result<()> {
    match remove_index(index) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

/// Removes an index.
///
/// # Errors
/// If there is no such file, or it is not an index.
pub fn remove_index(index: &Path) -> io::Result<()> {
    check_kind(index)?;
    fs::remove_file(index)
}

/// Returns an error unless the file is an index.
pub(crate) fn check_kind(index: &Path) -> io::Result<()> {
    let mut head = Vec::new();
    open_file(index)?.take(ANY as u64).read_to_end(&mut head)?;
    match head == MAGIC[..ANY] {
        true => Ok(()),
        false => Err(io::Error::new(
            io::ErrorKind::AlreadyExists,
            "is not an index, and is left alone",
        )),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use tempfile::TempDir;

    use super::*;

    /// Files that can be opened: one that is removed while it is open may keep its name until it is closed.
    fn there(folder: &Path) -> usize {
        let found = files_with(folder, "");
        found.filter(|path| File::open(path).is_ok()).count()
    }

    #[test]
    fn what_a_process_leaves_behind_is_removed_by_the_next_one() {
        let folder = TempDir::new().expect("a folder");
        let (folder, index) = (folder.path(), folder.path().join("x.index"));
        let left = folder.join(format!("{PREFIX}7-abc"));
        fs::write(&left, "half of an ind").expect("room for it");
        let NewFile::Named(first) = NewFile::named(folder).expect("a file") else {
            panic!("it has a name");
        };
        assert!(!left.exists());
        let second = NewFile::named(folder).expect("a file");
        assert_eq!(there(folder), 2, "one that is being written stays");
        second.file().write_all(&MAGIC).expect("room for it");
        second.publish(&index).expect("a name for it");
        assert!(index.exists());
        // Nothing else removes it: dropping it would.
        let (first, _) = first.keep().expect("a file");
        remove_unfinished(&index);
        // Wine removes it once it is closed.
        drop(first);
        assert_eq!(there(folder), 1, "the index");
    }
}
