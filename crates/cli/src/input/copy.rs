//! Copies in temporary files, which leave free space on the disk.

use std::env;
use std::fs::File;
use std::io::{self, BufRead, Read, Seek, Write};

use hprof_format::{AccessPoints, ends_early, unpack};
use hprof_os::files;

/// The size up to which any compressed file may be decompressed.
const ALWAYS: u64 = 1 << 30;
/// Beyond that, the most decompressed bytes per compressed byte. Heap dumps reach 3 to 20; a file made to fill disks
/// reaches 1,000.
const RATIO: u64 = 64;
/// The number of bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// The most bytes that a copy may have; `None` for what is not compressed.
#[derive(Clone, Copy, Debug)]
pub struct Limit(Option<u64>);

impl Limit {
    /// The limit for the content of a compressed file of `length` bytes.
    pub fn of_compressed(length: u64) -> Limit {
        Limit(Some(length.saturating_mul(RATIO).max(ALWAYS)))
    }
}

/// Copies all of `source`.
pub fn whole(source: impl Read) -> io::Result<File> {
    match some(source, Limit(None))? {
        (content, None) => Ok(content),
        (_, Some(error)) => Err(error),
    }
}

/// Copies the decompressed content of a compressed file of `length` bytes; also returns the points from which it can be
/// decompressed again.
pub fn decompressed(source: impl BufRead, length: u64) -> io::Result<(File, AccessPoints)> {
    let (content, points) = available(source, length)?;
    Ok((content, points?))
}

/// As [`decompressed`], but of a file that ends too early also copies what is there: the error is that instead of points.
pub fn available(
    source: impl BufRead,
    length: u64,
) -> io::Result<(File, io::Result<AccessPoints>)> {
    let mut copy = TemporaryCopy::new(Limit::of_compressed(length))?;
    let points = match unpack(source, |piece| copy.add(piece)) {
        Err(error) if !ends_early(&error) => return Err(error),
        points => points,
    };
    Ok((copy.finish()?, points))
}

/// Copies what can be read of `source`, within `limit` and what [`room`] allows; also returns the error that ended the reading.
pub fn some(mut source: impl Read, limit: Limit) -> io::Result<(File, Option<io::Error>)> {
    let mut copy = TemporaryCopy::new(limit)?;
    let mut piece = vec![0; PIECE];
    loop {
        match source.read(&mut piece) {
            Ok(0) => return Ok((copy.finish()?, None)),
            Ok(count) => copy.add(&piece[..count])?,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Ok((copy.finish()?, Some(error))),
        }
    }
}

/// A copy that is being made.
struct TemporaryCopy {
    kept: File,
    length: u64,
    most: Option<u64>,
    room: Option<u64>,
}

impl TemporaryCopy {
    fn new(Limit(most): Limit) -> io::Result<TemporaryCopy> {
        let kept = tempfile::tempfile().map_err(in_folder)?;
        Ok(TemporaryCopy {
            room: room(&kept),
            kept,
            length: 0,
            most,
        })
    }

    fn add(&mut self, piece: &[u8]) -> io::Result<()> {
        self.length += piece.len() as u64;
        if let Some(most) = self.most.filter(|&most| self.length > most) {
            return Err(io::Error::other(format!(
                "decompressed it is more than {most} bytes, as few heap dumps are; if you trust it, unpack it and name the \
                 file that comes of it"
            )));
        }
        if let Some(room) = self.room.filter(|&room| self.length > room) {
            return Err(in_folder(io::Error::other(format!(
                "it is more than {room} bytes, nine tenths of what is free there; TMPDIR names another folder"
            ))));
        }
        self.kept.write_all(piece).map_err(in_folder)
    }

    fn finish(mut self) -> io::Result<File> {
        self.kept.rewind()?;
        Ok(self.kept)
    }
}

/// Returns nine tenths of the free space where `file` is: other programs need some. `None` if the system does not
/// reveal it.
fn room(file: &File) -> Option<u64> {
    let free = files::free_space(file).ok()?;
    Some(free - free / 10)
}

fn in_folder(error: io::Error) -> io::Error {
    let folder = env::temp_dir();
    let message = format!("keeping a copy in {}: {error}", folder.display());
    io::Error::new(error.kind(), message)
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn a_copy_can_be_read_from_its_start() {
        let mut kept = whole(&b"0123456789"[..]).expect("there is room");
        let mut text = String::new();
        kept.read_to_string(&mut text).expect("it is a file");
        assert_eq!(text, "0123456789");
    }

    #[test]
    fn what_grows_without_measure_is_refused() {
        let most = 3 << 20;
        let limit = Limit(Some(most));
        some(io::repeat(0).take(most), limit).expect("it is within the limit");
        let error = some(io::repeat(0), limit).expect_err("it has no end");
        let said = error.to_string();
        assert!(
            said.starts_with("decompressed it is more than 3145728 bytes"),
            "{said}"
        );
    }

    #[test]
    fn large_files_may_become_large() {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&[7; 100_000]).expect("a vector has room");
        let file = encoder.finish().expect("a vector has room");
        let (kept, points) = decompressed(&file[..], 20).expect("any file may become that");
        assert_eq!(kept.metadata().expect("a file").len(), 100_000);
        assert_eq!(points.length, 100_000);
    }
}
