//! The header of a chunk.

use crate::constants::{COMPRESSED, FINAL, HEADER_SIZE, MAGIC, MAJOR_VERSIONS, VERSION};
use crate::error::Fault;

/// The first 68 bytes of a chunk, all numbers big-endian. Positions are those in the chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the format, major and minor.
    pub version: (u16, u16),
    /// The length of the chunk, header included.
    pub size: u64,
    /// The position of the last checkpoint.
    pub checkpoint: u64,
    /// The position of the metadata.
    pub metadata: u64,
    /// The time at which the chunk began, in nanoseconds since 1970.
    pub start_nanos: u64,
    /// The time until it was closed.
    pub duration_nanos: u64,
    /// The count of ticks at its beginning.
    pub start_ticks: u64,
    /// The ticks of a second.
    pub ticks_per_second: u64,
    /// Marks: integers have variable lengths, no chunk follows.
    pub marks: u32,
}

impl Header {
    /// The version and the marks that are written.
    pub(crate) const WRITTEN: Header = Header {
        version: VERSION,
        size: 0,
        checkpoint: 0,
        metadata: 0,
        start_nanos: 0,
        duration_nanos: 0,
        start_ticks: 0,
        ticks_per_second: 0,
        marks: COMPRESSED | FINAL,
    };

    /// Returns `true` if integers have variable lengths.
    #[must_use]
    pub fn is_compressed(&self) -> bool {
        self.marks & COMPRESSED != 0
    }

    /// Returns the nanoseconds that so many ticks take.
    #[must_use]
    pub fn nanos(&self, ticks: u64) -> u64 {
        const NANOS: u128 = 1_000_000_000;
        let per_second = u128::from(self.ticks_per_second.max(1));
        u64::try_from(u128::from(ticks) * NANOS / per_second).unwrap_or(u64::MAX)
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend(MAGIC);
        out.extend(self.version.0.to_be_bytes());
        out.extend(self.version.1.to_be_bytes());
        for number in [
            self.size,
            self.checkpoint,
            self.metadata,
            self.start_nanos,
            self.duration_nanos,
            self.start_ticks,
            self.ticks_per_second,
        ] {
            out.extend(number.to_be_bytes());
        }
        out.extend(self.marks.to_be_bytes());
    }

    /// Reads a header, or returns the fault and its place in it.
    pub(crate) fn read(bytes: &[u8; HEADER_SIZE]) -> Result<Header, (usize, Fault)> {
        let u16_at = |at: usize| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
        let u64_at = |at: usize| {
            let mut number = [0; 8];
            number.copy_from_slice(&bytes[at..at + 8]);
            u64::from_be_bytes(number)
        };
        if bytes[..4] != MAGIC {
            return Err((0, Fault::NoChunk));
        }
        let version = (u16_at(4), u16_at(6));
        if !MAJOR_VERSIONS.contains(&version.0) {
            return Err((4, Fault::Version(version.0, version.1)));
        }
        let size = u64_at(8);
        match size {
            // The size is written when the chunk is closed.
            0 => return Err((8, Fault::Unfinished)),
            size if size < HEADER_SIZE as u64 => return Err((8, Fault::ChunkSize(size))),
            _ => {}
        }
        Ok(Header {
            version,
            size,
            checkpoint: u64_at(16),
            metadata: u64_at(24),
            start_nanos: u64_at(32),
            duration_nanos: u64_at(40),
            start_ticks: u64_at(48),
            ticks_per_second: u64_at(56),
            marks: u32::from_be_bytes([bytes[64], bytes[65], bytes[66], bytes[67]]),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_is_read_as_it_was_written() {
        let header = Header {
            size: 1000,
            checkpoint: 500,
            metadata: 68,
            start_nanos: 1_700_000_000_000_000_000,
            duration_nanos: 5,
            start_ticks: 7,
            ticks_per_second: 2_000_000_000,
            ..Header::WRITTEN
        };
        let mut bytes = Vec::new();
        header.write(&mut bytes);
        let bytes: [u8; HEADER_SIZE] = bytes.try_into().expect("its size");
        assert_eq!(Header::read(&bytes), Ok(header));
        assert_eq!(header.nanos(4_000_000_000), 2_000_000_000);
        let mut other = bytes;
        other[5] = 3;
        assert_eq!(Header::read(&other), Err((4, Fault::Version(3, 1))));
        let mut unfinished = bytes;
        unfinished[8..16].fill(0);
        assert_eq!(Header::read(&unfinished), Err((8, Fault::Unfinished)));
    }
}
