//! A file that was written and is read again later, when another user may have put something else in its place.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use hprof_os::files::{self, FileId};

use crate::failure::Failure;

/// The name of a finished file, and what distinguishes it from others. It is not kept open: many may wait.
pub struct WrittenFile {
    path: PathBuf,
    id: FileId,
}

impl WrittenFile {
    /// `file` is the file that has been written, and is at `path` now.
    pub fn new(path: PathBuf, file: &File) -> io::Result<WrittenFile> {
        let id = files::id(file)?;
        Ok(WrittenFile { path, id })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Opens the file; anything else at its path is an error, which is not waited for if it is a pipe.
    pub fn open(&self) -> Result<File, Failure> {
        let about = |error| Failure::about(&self.path, error);
        let file = files::open_no_link(&self.path).map_err(about)?;
        if files::id(&file).map_err(about)? != self.id {
            let what = "is not the file that was written: something else is there now";
            return Err(Failure::about(&self.path, what));
        }
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;

    use tempfile::TempDir;

    use super::*;

    /// Writes a file, has something put in its place, and reads it again.
    fn read_after(change: impl FnOnce(&Path)) -> Result<String, Failure> {
        let folder = TempDir::new().expect("a folder");
        let path = folder.path().join("x.hprof");
        fs::write(&path, "what came").expect("a file");
        let file = File::open(&path).expect("it is there");
        let written = WrittenFile::new(path.clone(), &file).expect("it is open");
        change(&path);
        let mut text = String::new();
        written.open()?.read_to_string(&mut text).expect("text");
        Ok(text)
    }

    #[test]
    fn the_file_that_was_written_is_read() {
        let text = read_after(|_| ()).ok();
        assert_eq!(text.as_deref(), Some("what came"));
    }

    #[test]
    fn nothing_else_in_its_place_is_read() {
        let away = |path: &Path| fs::rename(path, path.with_extension("old")).expect("it is ours");
        let another = read_after(|path| {
            away(path);
            fs::write(path, "what another wrote").expect("a file");
        });
        let nothing = read_after(away);
        for read in [another, nothing] {
            assert!(read.is_err(), "{:?}", read.ok());
        }
    }

    #[cfg(unix)]
    #[test]
    fn neither_a_link_nor_a_pipe_in_its_place_is_read() {
        use std::os::unix::fs::symlink;
        use std::process::Command;

        let away = |path: &Path| fs::rename(path, path.with_extension("old")).expect("it is ours");
        let link = read_after(|path| {
            away(path);
            symlink("x.old", path).expect("a link");
        });
        let pipe = read_after(|path| {
            away(path);
            let made = Command::new("mkfifo").arg(path).status();
            assert!(made.expect("mkfifo").success());
        });
        for read in [link, pipe] {
            assert!(read.is_err(), "{:?}", read.ok());
        }
    }
}
