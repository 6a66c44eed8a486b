//! Files that may be compressed.

use std::cell::RefCell;
use std::io::{self, BufReader, ErrorKind, Read, Seek, SeekFrom};
use std::mem;
use std::rc::Rc;

use flate2::bufread::MultiGzDecoder;

use crate::bytes::in_memory;

/// The beginning of a gzip file, and of no profile.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// The number of compressed bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// The number of decompressed bytes that are kept before each position: a reader goes back as far as it has read ahead.
const KEPT: usize = 128 * 1024;

/// The fault of a compressed file that is cut short.
pub(crate) const ENDS_EARLY: &str =
    "the compressed data ends before its end; the program was killed, or still runs";

/// A seekable source.
pub trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// Returns `true` if the bytes from the file's current position are compressed with gzip; the position is unchanged
/// afterwards.
///
/// # Errors
/// Those of reading the first bytes.
pub fn is_compressed(file: &mut impl Source) -> io::Result<bool> {
    let start = file.stream_position()?;
    let mut first = Vec::with_capacity(GZIP.len());
    file.by_ref()
        .take(GZIP.len() as u64)
        .read_to_end(&mut first)?;
    file.seek(SeekFrom::Start(start))?;
    Ok(first == GZIP)
}

/// Returns a reader of the bytes from the file's current position, which decompresses them if they are compressed with
/// gzip.
///
/// Going back in a compressed file to read a part again, without ever going back before that part later, decompresses
/// the file twice in total, however often this happens.
///
/// # Errors
/// Those of reading the first bytes.
pub fn decompressed<'a>(mut file: impl Source + 'a) -> io::Result<Box<dyn Source + 'a>> {
    let start = file.stream_position()?;
    if is_compressed(&mut file)? {
        return Ok(Box::new(Decompressed::new(file, start)));
    }
    Ok(Box::new(file))
}

/// The content of a gzip file, decompressed at two positions: one is ahead of the other when a part is read again.
struct Decompressed<R> {
    file: Rc<RefCell<R>>,
    /// The position in the file at which it starts.
    start: u64,
    /// The position that is currently read.
    here: DecodedStream<R>,
    /// The position that was read before.
    there: Option<DecodedStream<R>>,
    position: u64,
}

impl<R: Source> Decompressed<R> {
    fn new(file: R, start: u64) -> Self {
        let file = Rc::new(RefCell::new(file));
        Self {
            here: DecodedStream::new(&file, start),
            there: None,
            file,
            start,
            position: 0,
        }
    }
}

impl<R: Source> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.here.read(self.position, buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: Source> Seek for Decompressed<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(step) => self.position.checked_add_signed(step),
            // The end is unknown until it is reached.
            SeekFrom::End(_) => None,
        };
        let position = position.ok_or(ErrorKind::InvalidInput)?;
        if !self.here.reaches(position) {
            let there = self.there.take().filter(|there| there.reaches(position));
            let there = there.unwrap_or_else(|| DecodedStream::new(&self.file, self.start));
            self.there = Some(mem::replace(&mut self.here, there));
        }
        self.position = self.here.go_to(position)?;
        Ok(self.position)
    }
}

/// A position in the decompressed content, which only moves forward.
struct DecodedStream<R> {
    decoder: MultiGzDecoder<BufReader<Shared<R>>>,
    /// The bytes decompressed last.
    kept: Vec<u8>,
    /// The position at which they end.
    end: u64,
}

impl<R: Source> DecodedStream<R> {
    fn new(file: &Rc<RefCell<R>>, start: u64) -> Self {
        let shared = Shared {
            file: Rc::clone(file),
            position: start,
        };
        Self {
            decoder: MultiGzDecoder::new(BufReader::with_capacity(PIECE, shared)),
            kept: Vec::new(),
            end: 0,
        }
    }

    /// Returns `true` if `position` can be read without starting again.
    fn reaches(&self, position: u64) -> bool {
        position >= self.end - self.kept.len() as u64
    }

    /// Decompresses up to `position`, or the end; returns the position reached.
    fn go_to(&mut self, position: u64) -> io::Result<u64> {
        while self.end < position && self.decompress()? {}
        Ok(position.min(self.end))
    }

    /// Reads at a position that it reaches, up to the position it was asked to go to.
    fn read(&mut self, position: u64, buffer: &mut [u8]) -> io::Result<usize> {
        if position == self.end && !self.decompress()? {
            return Ok(0);
        }
        let after = in_memory(self.end - position);
        let kept = &self.kept[self.kept.len() - after..];
        let count = kept.len().min(buffer.len());
        buffer[..count].copy_from_slice(&kept[..count]);
        Ok(count)
    }

    /// Decompresses the next piece; returns `true` if there was more.
    fn decompress(&mut self) -> io::Result<bool> {
        if self.kept.len() >= 2 * KEPT {
            self.kept.drain(..self.kept.len() - KEPT);
        }
        let length = self.kept.len();
        self.kept.resize(length + PIECE, 0);
        let read = self.decoder.read(&mut self.kept[length..]);
        let count = *read.as_ref().unwrap_or(&0);
        self.kept.truncate(length + count);
        self.end += count as u64;
        match read {
            Ok(count) => Ok(count > 0),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                Err(io::Error::other(ENDS_EARLY))
            }
            Err(error) => Err(error),
        }
    }
}

/// A file that is read at several positions.
struct Shared<R> {
    file: Rc<RefCell<R>>,
    position: u64,
}

impl<R: Source> Read for Shared<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let mut file = self.file.borrow_mut();
        file.seek(SeekFrom::Start(self.position))?;
        let count = file.read(buffer)?;
        self.position += count as u64;
        Ok(count)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::io::{Cursor, Write};
    use std::iter;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    fn compressed(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    }

    fn rest(source: &mut dyn Source) -> Vec<u8> {
        let mut rest = Vec::new();
        source.read_to_end(&mut rest).expect("it is whole");
        rest
    }

    #[test]
    fn a_compressed_file_reads_like_a_plain_one() {
        let content: Vec<u8> = (0..100_000_u32).flat_map(u32::to_be_bytes).collect();
        for file in [content.clone(), compressed(&content)] {
            let mut source = decompressed(Cursor::new(file)).expect("it can be read");
            assert_eq!(rest(&mut source), content);
            for place in [70_000, 12, 399_999] {
                let reached = source.seek(SeekFrom::Start(place)).expect("it is there");
                assert_eq!(reached, place);
                assert_eq!(rest(&mut source), content[in_memory(place)..]);
            }
        }
    }

    /// Counts the bytes that are read from it.
    struct Counted<'a>(Cursor<&'a [u8]>, &'a Cell<usize>);

    impl Read for Counted<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let count = self.0.read(buffer)?;
            self.1.set(self.1.get() + count);
            Ok(count)
        }
    }

    impl Seek for Counted<'_> {
        fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
            self.0.seek(to)
        }
    }

    #[test]
    fn parts_that_are_read_again_cost_one_more_pass_in_all() {
        let mut number: u32 = 1;
        let content: Vec<u8> = iter::repeat_with(|| {
            number = number.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (number >> 24) as u8
        })
        .take(8_000_000)
        .collect();
        for part in [100, 70_000, 1_000_000] {
            let (file, count) = (compressed(&content), Cell::new(0));
            let counted = Counted(Cursor::new(&file), &count);
            let mut source = decompressed(counted).expect("it can be read");
            let mut buffer = vec![0; part];
            for (index, part) in content.chunks(part).enumerate().step_by(3) {
                let start = (index * buffer.len()) as u64;
                for _ in 0..2 {
                    source.seek(SeekFrom::Start(start)).expect("it is there");
                    let read = &mut buffer[..part.len()];
                    source.read_exact(read).expect("it is there");
                    assert_eq!(read, part);
                }
            }
            assert!(count.get() <= 2 * file.len() + 4, "{} bytes", count.get());
        }
    }

    #[test]
    fn a_file_that_is_cut_says_so() {
        let mut file = compressed(b"the content");
        file.truncate(file.len() - 9);
        let mut source = decompressed(Cursor::new(file)).expect("it starts well");
        let error = source.read_to_end(&mut Vec::new()).expect_err("it is cut");
        assert!(error.to_string().contains("before its end"), "{error}");
    }

    #[test]
    fn a_file_of_one_byte_is_a_file() {
        let mut source = decompressed(Cursor::new(vec![0x1f])).expect("it can be read");
        assert_eq!(rest(&mut source), [0x1f]);
    }
}
