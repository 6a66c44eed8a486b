//! The file that a command reads.

mod spool;

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::path::Path;

use hprof_format::{Source, decompressed};

use crate::failure::Failure;
use spool::Spool;

/// Opens `path`, or the standard input where it is `-`; what is compressed comes out as it was before.
///
/// Heap dumps may have to be read twice. A compressed file is then decompressed once more; what comes through a pipe is
/// kept in a temporary file without a name as it is read.
pub fn open(path: &Path) -> Result<Box<dyn Source>, Failure> {
    let source = open_file(path).and_then(seekable);
    source.map_err(|error| Failure::about(path, error))
}

fn open_file(path: &Path) -> io::Result<File> {
    if is_standard(path) {
        return Ok(io::stdin().as_fd().try_clone_to_owned()?.into());
    }
    File::open(path)
}

fn seekable(mut file: File) -> io::Result<Box<dyn Source>> {
    match file.stream_position() {
        Ok(_) => decompressed(file),
        // A pipe, or a device.
        Err(_) => decompressed(Spool::new(file)?),
    }
}

/// Whether `path` means a standard stream.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
