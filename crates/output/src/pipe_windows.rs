//! Writing to a pipe. No file is taken for one on Windows: its pipes are written to like files.

use std::fs::File;
use std::io::{self, Write};
use std::sync::atomic::AtomicBool;

use super::slow_reader::Timeouts;

/// Writes all of `piece`.
pub(super) fn write(mut pipe: &File, piece: &[u8], _: Timeouts, _: &AtomicBool) -> io::Result<()> {
    pipe.write_all(piece)
}
