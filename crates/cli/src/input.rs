//! The file that a command reads.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::failure::Failure;

/// What a gzip file starts with, and no profile does.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// Opens `path`, or the standard input where it is `-`; what is compressed comes out as it was before.
pub fn open(path: &Path) -> Result<Box<dyn Read>, Failure> {
    let failure = |error| Failure::about(path, error);
    if is_standard(path) {
        return decompressed(io::stdin().lock()).map_err(failure);
    }
    File::open(path).and_then(decompressed).map_err(failure)
}

fn decompressed(source: impl Read + 'static) -> io::Result<Box<dyn Read>> {
    let mut source = BufReader::with_capacity(PIECE, source);
    if source.fill_buf()?.starts_with(GZIP) {
        return Ok(Box::new(Decompressed(MultiGzDecoder::new(source))));
    }
    Ok(Box::new(source))
}

/// Says in our words where the compressed bytes end too early.
struct Decompressed<R>(MultiGzDecoder<R>);

impl<R: BufRead> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => io::Error::other(
                "the compressed data ends before its end; the program was killed, or still runs",
            ),
            _ => error,
        })
    }
}

/// Whether `path` means a standard stream.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}
