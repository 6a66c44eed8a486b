//! The output of a command.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use hprof_os::files::{self, FileId};

use crate::failure::Failure;
use crate::input;
use crate::terminal::Watched;

/// Creates a private file, which must not overwrite any of `inputs`.
pub fn create<'a>(
    path: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<File, Failure> {
    let refuse = |file: &File| match is_one_of(&files::id(file)?, inputs) {
        true => Err(io::Error::other(
            "is the file to be read, and would be lost",
        )),
        false => Ok(()),
    };
    files::create(path, refuse).map_err(|error| Failure::about(path, error))
}

/// Creates a private file; that it exists already is an error.
pub fn create_new(path: &Path) -> Result<File, Failure> {
    files::create_new(path).map_err(|error| Failure::about(path, error))
}

fn is_one_of<'a>(file: &FileId, inputs: impl IntoIterator<Item = &'a Path>) -> bool {
    let mut named = inputs
        .into_iter()
        .filter(|input| !input::is_standard(input));
    named.any(|input| files::id_at(input).is_ok_and(|other| other == *file))
}

/// A file, or the standard output if none is given, buffered.
pub struct Output {
    /// The name for error messages.
    pub name: PathBuf,
    writer: BufWriter<Box<dyn Write>>,
    /// The file, until all of it is written.
    unfinished: Option<PathBuf>,
}

/// What a command that failed has written of a file is removed: nobody should take it for the whole.
impl Drop for Output {
    fn drop(&mut self) {
        if let Some(path) = self.unfinished.take() {
            remove(&path);
        }
    }
}

/// Removes what a command that failed has written; devices and links stay.
pub fn remove(path: &Path) {
    if fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        // The failure is reported; that a part is there, too, helps nobody.
        let _ = fs::remove_file(path);
    }
}

impl Output {
    /// Creates the file, or uses the standard output.
    pub fn open(path: Option<&Path>, input: &Path) -> Result<Output, Failure> {
        match path.filter(|path| !input::is_standard(path)) {
            Some(path) => Output::file(path, [input]),
            None => Ok(Output {
                name: PathBuf::from("standard output"),
                writer: BufWriter::with_capacity(1 << 16, Box::new(io::stdout().lock())),
                unfinished: None,
            }),
        }
    }

    /// Creates the file, which must not overwrite any of `inputs`.
    pub fn file<'a>(
        path: &Path,
        inputs: impl IntoIterator<Item = &'a Path>,
    ) -> Result<Output, Failure> {
        Ok(Output::of(create(path, inputs)?, path))
    }

    /// Creates the file; that it exists already is an error.
    pub fn new_file(path: &Path) -> Result<Output, Failure> {
        Ok(Output::of(create_new(path)?, path))
    }

    fn of(file: File, path: &Path) -> Output {
        Output {
            name: path.to_owned(),
            writer: BufWriter::with_capacity(1 << 16, Box::new(Watched::writing(file, path))),
            unfinished: Some(path.to_owned()),
        }
    }

    /// Calls `write`, then flushes the output.
    pub fn write(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let written = write(&mut self.writer).and_then(|()| self.writer.flush());
        written.map_err(|error| Failure::writing(&self.name, &error))?;
        self.unfinished = None;
        Ok(())
    }
}
