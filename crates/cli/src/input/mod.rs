//! The file that a command reads.

mod copy;
mod spool;

use std::fs::File;
use std::io::{self, Seek};
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::Path;

use hprof_format::{Source, decompressed, is_compressed, is_text};

use crate::failure::Failure;
use crate::terminal::Watched;
use spool::Spool;

/// Opens `path`, or the standard input for `-`; decompresses it if necessary.
///
/// Heap dumps may have to be read twice. A compressed file is then decompressed again; input from a pipe is kept in a
/// temporary file without a name while it is read.
pub fn open(path: &Path) -> Result<Box<dyn Source>, Failure> {
    let source = open_file(path).and_then(seekable);
    source.map_err(|error| Failure::about(path, error))
}

/// As [`open`], and shows the progress on a terminal, so nothing else may be written there meanwhile.
pub fn open_watched(path: &Path) -> Result<Box<dyn Source>, Failure> {
    let watched = |file: File| {
        let found = file.metadata()?;
        let all = found.is_file().then_some(found.len());
        seekable(Watched::reading(file, path, all))
    };
    let source = open_file(path).and_then(watched);
    source.map_err(|error| Failure::about(path, error))
}

/// Opens `path`, or the standard input, as a file that can be mapped. Compressed input and pipes are first written to a
/// temporary file without a name, which only its owner can read and which disappears with the process. The copy's size
/// is limited, so decompression cannot fill the disk.
pub fn open_mappable(path: &Path) -> Result<File, Failure> {
    let file = open_file(path).and_then(mappable);
    file.map_err(|error| Failure::about(path, error))
}

fn mappable(mut file: File) -> io::Result<File> {
    if file.stream_position().is_err() || !file.metadata()?.is_file() {
        file = copy::whole(file)?;
    }
    if !is_compressed(&mut file)? {
        return Ok(file);
    }
    let length = file.metadata()?.len();
    copy::decompressed(decompressed(file)?, length)
}

fn open_file(path: &Path) -> io::Result<File> {
    if is_standard(path) {
        return Ok(io::stdin().as_fd().try_clone_to_owned()?.into());
    }
    File::open(path)
}

fn seekable(mut file: impl Source + 'static) -> io::Result<Box<dyn Source>> {
    match file.stream_position() {
        Ok(_) => decompressed(file),
        // A pipe, or a device.
        Err(_) => decompressed(Spool::new(file)?),
    }
}

/// Returns `true` if the file, which [`open_mappable`] opened, is a profile in the text format.
pub fn is_text_profile(file: &File) -> bool {
    const TELLING: usize = 32;
    let mut start = [0; TELLING];
    let count = file.read_at(&mut start, 0).unwrap_or(0);
    is_text(&start[..count])
}

/// Returns `true` if `path` means a standard stream.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
