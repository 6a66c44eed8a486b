//! Files that may be compressed.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Seek, SeekFrom};

use flate2::bufread::MultiGzDecoder;

/// What a gzip file starts with, and no profile does.
const GZIP: [u8; 2] = [0x1f, 0x8b];
/// Compressed bytes that are read at once.
const PIECE: usize = 64 * 1024;

/// What can be read, and read again.
pub trait Source: Read + Seek {}

impl<T: Read + Seek> Source for T {}

/// Whether a file is compressed with gzip, from where it stands; it stands there afterwards.
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

/// The bytes of a file from where it stands, which come out as they were before where the file is compressed with gzip.
///
/// # Errors
/// Those of reading the first bytes.
pub fn decompressed<'a>(mut file: impl Source + 'a) -> io::Result<Box<dyn Source + 'a>> {
    let start = file.stream_position()?;
    if is_compressed(&mut file)? {
        let file = BufReader::with_capacity(PIECE, file);
        return Ok(Box::new(Decompressed::new(file, start)));
    }
    Ok(Box::new(file))
}

/// What is in a gzip file. To go back in it is to read it from its start.
struct Decompressed<R> {
    /// `None` after a failure to go back.
    decoder: Option<MultiGzDecoder<R>>,
    /// Where in the file it starts.
    start: u64,
    position: u64,
}

impl<R: BufRead + Seek> Decompressed<R> {
    fn new(file: R, start: u64) -> Self {
        Self {
            decoder: Some(MultiGzDecoder::new(file)),
            start,
            position: 0,
        }
    }

    fn restart(&mut self) -> io::Result<()> {
        let mut file = self.decoder.take().ok_or_else(lost)?.into_inner();
        file.seek(SeekFrom::Start(self.start))?;
        *self = Self::new(file, self.start);
        Ok(())
    }
}

impl<R: BufRead + Seek> Read for Decompressed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let decoder = self.decoder.as_mut().ok_or_else(lost)?;
        let count = decoder.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => io::Error::other(
                "the compressed data ends before its end; the program was killed, or still runs",
            ),
            _ => error,
        })?;
        self.position += count as u64;
        Ok(count)
    }
}

impl<R: BufRead + Seek> Seek for Decompressed<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(step) => self.position.checked_add_signed(step),
            // Nobody knows the end before it is reached.
            SeekFrom::End(_) => None,
        };
        let position = position.ok_or(ErrorKind::InvalidInput)?;
        if position < self.position {
            self.restart()?;
        }
        let ahead = position - self.position;
        io::copy(&mut self.by_ref().take(ahead), &mut io::sink())?;
        Ok(self.position)
    }
}

fn lost() -> io::Error {
    io::Error::other("the file could not be read again")
}

#[cfg(test)]
mod tests {
    use std::io::{Cursor, Write};

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
                assert_eq!(rest(&mut source), content[place as usize..]);
            }
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
