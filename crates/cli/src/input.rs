//! The file that a command reads.

mod spool;

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

use crate::failure::Failure;
use spool::Spool;

/// What a gzip file starts with, and no profile does.
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// What can be read, and read again.
pub trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// Opens `path`, or the standard input where it is `-`; what is compressed comes out as it was before.
///
/// Heap dumps may have to be read twice. A compressed file is then decompressed once more; what comes through a pipe is
/// kept in a temporary file without a name as it is read.
pub fn open(path: &Path) -> Result<Box<dyn Source>, Failure> {
    let source = open_file(path).and_then(readable);
    source.map_err(|error| Failure::about(path, error))
}

fn open_file(path: &Path) -> io::Result<File> {
    if is_standard(path) {
        return Ok(io::stdin().as_fd().try_clone_to_owned()?.into());
    }
    File::open(path)
}

fn readable(mut file: File) -> io::Result<Box<dyn Source>> {
    // A pipe has no position.
    let start = file.stream_position().ok();
    let mut source = BufReader::with_capacity(PIECE, file);
    let is_compressed = source.fill_buf()?.starts_with(GZIP);
    Ok(match (start, is_compressed) {
        (Some(_), false) => Box::new(source),
        (Some(start), true) => Box::new(Unpacked::new(source, start)),
        (None, false) => Box::new(Spool::new(source)?),
        (None, true) => Box::new(Spool::new(Decompressed(MultiGzDecoder::new(source)))?),
    })
}

/// A compressed file, which can only be read again from its start.
struct Unpacked {
    source: Decompressed<BufReader<File>>,
    /// Where the compressed bytes start.
    start: u64,
    /// How many bytes have come out.
    position: u64,
}

impl Unpacked {
    fn new(source: BufReader<File>, start: u64) -> Unpacked {
        Unpacked {
            source: Decompressed(MultiGzDecoder::new(source)),
            start,
            position: 0,
        }
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl Seek for Unpacked {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(step) => self.position.checked_add_signed(step),
            SeekFrom::End(_) => None,
        };
        let position = position.ok_or(ErrorKind::InvalidInput)?;
        if position < self.position {
            let file = self.source.0.get_mut();
            file.seek(SeekFrom::Start(self.start))?;
            let file = file.get_ref().try_clone()?;
            *self = Unpacked::new(BufReader::with_capacity(PIECE, file), self.start);
        }
        let left = position - self.position;
        io::copy(&mut self.by_ref().take(left), &mut io::sink())?;
        Ok(self.position)
    }
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
