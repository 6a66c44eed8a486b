//! Files: what distinguishes one from another, their rights, and the links that lead to them.

use std::fs::File;
use std::io;
use std::path::Path;

pub use crate::system::files::*;
pub use crate::system::private_file::{create, create_new};

/// Returns what distinguishes the file at a path from others. Links are followed.
///
/// # Errors
/// If there is no such file, or it may not be looked at.
pub fn id_at(path: &Path) -> io::Result<FileId> {
    crate::system::files::id_of_path(path)
}

/// Reads exactly as many bytes of a file as there is room for, from a place on, or to its end.
///
/// # Errors
/// As [`read_at`].
pub fn fill_at(file: &File, bytes: &mut [u8], start: u64) -> io::Result<usize> {
    let mut filled = 0;
    while filled < bytes.len() {
        match read_at(file, &mut bytes[filled..], start + filled as u64) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}
