//! The output of a command.

use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::input;
use crate::private_file;
use crate::terminal::Watched;

/// Creates a private file, which must not overwrite any of `inputs`.
pub fn create<'a>(
    path: &Path,
    inputs: impl IntoIterator<Item = &'a Path>,
) -> Result<File, Failure> {
    let refuse = |found: &Metadata| match inputs.into_iter().any(|input| is_at(found, input)) {
        true => Err(io::Error::other(
            "is the file to be read, and would be lost",
        )),
        false => Ok(()),
    };
    private_file::create(path, refuse).map_err(|error| Failure::about(path, error))
}

/// Creates a private file; that it exists already is an error.
pub fn create_new(path: &Path) -> Result<File, Failure> {
    private_file::create_new(path).map_err(|error| Failure::about(path, error))
}

fn is_at(one: &Metadata, input: &Path) -> bool {
    !input::is_standard(input)
        && fs::metadata(input)
            .is_ok_and(|other| (one.dev(), one.ino()) == (other.dev(), other.ino()))
}

/// A file, or the standard output if none is given, buffered.
pub struct Output {
    /// The name for error messages.
    pub name: PathBuf,
    writer: BufWriter<Box<dyn Write>>,
}

impl Output {
    /// Creates the file, or uses the standard output.
    pub fn open(path: Option<&Path>, input: &Path) -> Result<Output, Failure> {
        let (name, writer): (_, Box<dyn Write>) = match path {
            Some(path) if !input::is_standard(path) => {
                let file = create(path, [input])?;
                (path, Box::new(Watched::writing(file, path)))
            }
            _ => (Path::new("standard output"), Box::new(io::stdout().lock())),
        };
        Ok(Output {
            name: name.to_owned(),
            writer: BufWriter::with_capacity(1 << 16, writer),
        })
    }

    /// Creates the file; that it exists already is an error.
    pub fn new_file(path: &Path) -> Result<Output, Failure> {
        let file = Watched::writing(create_new(path)?, path);
        Ok(Output {
            name: path.to_owned(),
            writer: BufWriter::with_capacity(1 << 16, Box::new(file)),
        })
    }

    /// Calls `write`, then flushes the output.
    pub fn write(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let written = write(&mut self.writer).and_then(|()| self.writer.flush());
        written.map_err(|error| Failure::writing(&self.name, &error))
    }
}
