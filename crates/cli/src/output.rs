//! The output of a command.

use std::fs::{self, File};
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
    if inputs.into_iter().any(|input| is_same(path, input)) {
        return Err(Failure::about(
            path,
            "is the file to be read, and would be lost",
        ));
    }
    private_file::create(path).map_err(|error| Failure::about(path, error))
}

fn is_same(path: &Path, input: &Path) -> bool {
    let (Ok(one), Ok(other)) = (fs::metadata(path), fs::metadata(input)) else {
        return false;
    };
    !input::is_standard(input) && (one.dev(), one.ino()) == (other.dev(), other.ino())
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

    /// Calls `write`, then flushes the output.
    pub fn write(
        mut self,
        write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<(), Failure> {
        let written = write(&mut self.writer).and_then(|()| self.writer.flush());
        written.map_err(|error| Failure::writing(&self.name, &error))
    }
}
