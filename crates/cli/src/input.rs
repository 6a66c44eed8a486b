//! The file that a command reads.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::failure::Failure;

/// Opens `path`, or the standard input where it is `-`.
pub fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    if is_standard(path) {
        return Ok(Box::new(io::stdin().lock()));
    }
    match File::open(path) {
        Ok(file) => Ok(Box::new(file)),
        Err(error) => Err(Failure::about(path, error)),
    }
}

/// Whether `path` means a standard stream.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
