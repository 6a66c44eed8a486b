//! A stream that can be read again.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

/// Makes a stream seekable as far as it has been read.
pub struct Spool<R> {
    source: R,
    /// The data read from the source so far.
    kept: File,
    length: u64,
    position: u64,
}

impl<R: Read> Spool<R> {
    /// Starts with the next data of `source`.
    pub fn new(source: R) -> io::Result<Spool<R>> {
        Ok(Spool {
            source,
            kept: tempfile::tempfile()?,
            length: 0,
            position: 0,
        })
    }
}

impl<R: Read> Read for Spool<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.position < self.length {
            let count = self.kept.read(buffer)?;
            self.position += count as u64;
            return Ok(count);
        }
        let count = self.source.read(buffer)?;
        self.kept.write_all(&buffer[..count]).map_err(|error| {
            io::Error::new(
                error.kind(),
                format!(
                    "keeping a copy in {}: {error}",
                    std::env::temp_dir().display()
                ),
            )
        })?;
        self.length += count as u64;
        self.position = self.length;
        Ok(count)
    }
}

impl<R> Seek for Spool<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let position = match to {
            SeekFrom::Start(position) => Some(position),
            SeekFrom::Current(step) => self.position.checked_add_signed(step),
            SeekFrom::End(_) => None,
        };
        match position {
            Some(position) if position <= self.length => {
                self.position = self.kept.seek(SeekFrom::Start(position))?;
                Ok(position)
            }
            _ => Err(io::ErrorKind::InvalidInput.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_is_read_again() {
        let mut spool = Spool::new(&b"0123456789"[..]).expect("a temporary file");
        let mut buffer = [0; 4];
        spool.read_exact(&mut buffer).expect("there is more");
        assert_eq!(&buffer, b"0123");
        spool.seek(SeekFrom::Current(-3)).expect("it was read");
        spool.read_exact(&mut buffer).expect("there is more");
        assert_eq!(&buffer, b"1234");
        let mut rest = String::new();
        spool.read_to_string(&mut rest).expect("there is more");
        assert_eq!(rest, "56789");
        spool.seek(SeekFrom::Start(0)).expect("it was read");
        rest.clear();
        spool.read_to_string(&mut rest).expect("it is kept");
        assert_eq!(rest, "0123456789");
        spool
            .seek(SeekFrom::Start(11))
            .expect_err("nobody knows what is there");
    }
}
