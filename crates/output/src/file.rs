//! The file that the profile goes to.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::Sink;
use super::open::{self, FileError, Opened};
use super::pipe;
use super::slow_reader::Timeouts;

/// A file being written, in pieces of whole records.
pub struct FileSink {
    file: File,
    path: PathBuf,
    /// The path of an existing file that the first piece will replace.
    replaces: Option<PathBuf>,
    /// The number of bytes written so far; `None` if others write to the file too, so that it is neither replaced nor
    /// truncated.
    written: Option<u64>,
    is_pipe: bool,
}

impl FileSink {
    /// Creates the file. An existing one is replaced only when the first piece comes, so a VM that refuses to start
    /// leaves it unchanged.
    pub fn create(path: &Path) -> Result<Self, FileError> {
        Ok(Self::new(open::open(path)?, path))
    }

    /// Creates the file; fails if it exists.
    pub fn create_new(path: &Path) -> Result<Self, FileError> {
        Ok(Self::new(open::create_new(path)?, path))
    }

    fn new(opened: Opened, path: &Path) -> Self {
        Self {
            file: opened.file,
            path: path.to_owned(),
            replaces: opened.found_at.filter(|_| opened.is_plain),
            written: opened.is_plain.then_some(0),
            is_pipe: opened.is_pipe,
        }
    }

    /// Returns `true` for a regular file that nobody else writes to.
    pub fn is_plain(&self) -> bool {
        self.written.is_some()
    }

    /// Returns the file's path.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Sink for FileSink {
    fn name(&self) -> String {
        self.path.display().to_string()
    }

    /// Writes a piece, whole or not at all if the file can be truncated: after an error it ends after the last whole
    /// piece.
    fn write(&mut self, piece: &[u8], is_ending: &AtomicBool) -> io::Result<()> {
        if self.is_pipe {
            return pipe::write(&self.file, piece, Timeouts::new("the reader"), is_ending);
        }
        if let Some(path) = self.replaces.take() {
            self.file = open::replace(self.file.try_clone()?, &path)?;
        }
        let answer = self.file.write_all(piece);
        if let Some(written) = &mut self.written {
            match answer {
                Ok(()) => *written += piece.len() as u64,
                // If even this fails, the reader finds the torn record.
                Err(_) => drop(self.file.set_len(*written)),
            }
        }
        answer
    }

    fn sync(&mut self) -> io::Result<()> {
        self.file.sync_data()
    }

    fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn write(sink: &mut FileSink, piece: &[u8]) {
        let written = sink.write(piece, &AtomicBool::new(false));
        written.expect("there is room");
    }

    /// Creates a folder with a file that others may read.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("profile");
        fs::write(&path, "old").expect("a file");
        set_mode(&path, 0o644);
        (folder, path)
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    fn content(path: &Path) -> String {
        fs::read_to_string(path).expect("a file")
    }

    #[test]
    fn who_has_the_old_file_open_goes_on_reading() {
        let (folder, path) = folder();
        let (link, other_name) = (folder.path().join("link"), folder.path().join("other"));
        symlink("profile", &link).expect("a link");
        fs::hard_link(&path, &other_name).expect("another name");
        let mut reader = File::open(&path).expect("a file");
        let mut sink = FileSink::create(&link).expect("it is ours");
        assert_eq!(content(&path), "old", "nothing has come yet");
        write(&mut sink, b"new");
        write(&mut sink, b"er");
        let mut read = String::new();
        reader.read_to_string(&mut read).expect("it is there");
        assert_eq!(read, "old");
        assert_eq!(
            (content(&path), content(&link)),
            ("newer".to_owned(), "newer".to_owned())
        );
        assert_eq!(content(&other_name), "old");
        let mode = |path: &Path| fs::metadata(path).expect("a file").mode() & 0o777;
        assert_eq!((mode(&path), mode(&other_name)), (0o600, 0o644));
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
    }

    #[test]
    fn a_file_that_no_other_can_replace_is_emptied() {
        let (folder, path) = folder();
        let process = std::process::id();
        for number in 0..open::NAMES {
            let taken = folder.path().join(format!(".hprof-{process}-{number}"));
            fs::write(taken, "somebody's").expect("a file");
        }
        let mut sink = FileSink::create(&path).expect("it is ours");
        write(&mut sink, b"new");
        assert_eq!(content(&path), "new");
        assert_eq!(fs::metadata(&path).expect("a file").mode() & 0o777, 0o600);
    }

    #[test]
    fn a_sink_that_gets_nothing_leaves_the_file_as_it_was() {
        let (folder, path) = folder();
        drop(FileSink::create(&path).expect("it is ours"));
        assert_eq!(content(&path), "old");
        assert_eq!(fs::read_dir(folder.path()).expect("a folder").count(), 1);
    }
}
