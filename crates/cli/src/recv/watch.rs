//! Observes the data on its way to the file: counts records, and detects whether the last one is complete.

use std::io::{self, Write};

use flate2::write::MultiGzDecoder;
use hprof_format::RECORD_HEADER;
use hprof_format::bytes::read_u32_be;

/// Examines a stream piece by piece without keeping it.
#[derive(Default)]
pub struct Watch {
    bytes: u64,
    format: WatchFormat,
}

#[derive(Default)]
enum WatchFormat {
    /// No data yet.
    #[default]
    Unknown,
    Plain(Content),
    Compressed(Box<MultiGzDecoder<Content>>),
    /// It began as gzip and continued as something else.
    Broken,
}

#[derive(Default)]
enum Content {
    /// The first word is incomplete. Both formats begin with a version; a NUL ends it in the binary format.
    #[default]
    Version,
    Binary(Binary),
    Text {
        lines: u64,
        last: u8,
    },
}

/// A binary stream after its version.
struct Binary {
    /// The number of bytes before the next record's header.
    skip: u64,
    /// The part of that header received so far.
    head: Vec<u8>,
    records: u64,
}

/// The first byte of a gzip stream, and of no profile.
pub const GZIP: u8 = 0x1f;
/// The number of bytes of the file's header after the version: the size of ids, and the time.
const HEAD: u64 = 12;
/// The offset of the length in the header.
const LENGTH: usize = 5;

impl Watch {
    /// Takes the next bytes of the stream.
    pub fn see(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if let (WatchFormat::Unknown, Some(&first)) = (&self.format, piece.first()) {
            self.format = match first {
                GZIP => WatchFormat::Compressed(Box::new(MultiGzDecoder::new(Content::default()))),
                _ => WatchFormat::Plain(Content::default()),
            };
        }
        match &mut self.format {
            WatchFormat::Plain(content) => content.see(piece),
            WatchFormat::Compressed(decoder) => {
                if decoder.write_all(piece).is_err() {
                    self.format = WatchFormat::Broken;
                }
            }
            WatchFormat::Unknown | WatchFormat::Broken => {}
        }
    }

    /// Returns the number of bytes so far.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of records so far, for a binary profile.
    pub fn records(&self) -> Option<u64> {
        match self.content() {
            Content::Binary(binary) => Some(binary.records),
            Content::Version | Content::Text { .. } => None,
        }
    }

    /// Formats the amount so far: `7 records, 4711 bytes`; lines for a text.
    pub fn amount(&self) -> String {
        let bytes = self.bytes;
        match self.content() {
            Content::Version => format!("{bytes} bytes"),
            Content::Binary(binary) => format!("{} records, {bytes} bytes", binary.records),
            Content::Text { lines, .. } => format!("{lines} lines, {bytes} bytes"),
        }
    }

    fn content(&self) -> &Content {
        match &self.format {
            WatchFormat::Plain(content) => content,
            WatchFormat::Compressed(decoder) => decoder.get_ref(),
            WatchFormat::Unknown | WatchFormat::Broken => &Content::Version,
        }
    }

    /// Returns `true` if a stream that ends here is truncated.
    pub fn is_torn(&mut self) -> bool {
        match &mut self.format {
            WatchFormat::Unknown | WatchFormat::Broken => true,
            WatchFormat::Plain(content) => content.is_torn(),
            WatchFormat::Compressed(decoder) => {
                decoder.try_finish().is_err() || decoder.get_ref().is_torn()
            }
        }
    }
}

impl Content {
    fn see(&mut self, mut piece: &[u8]) {
        while !piece.is_empty() {
            piece = match self {
                Content::Version => self.see_version(piece),
                Content::Binary(binary) => binary.see(piece),
                Content::Text { lines, last } => {
                    *lines += piece.iter().filter(|&&byte| byte == b'\n').count() as u64;
                    *last = piece[piece.len() - 1];
                    &[]
                }
            };
        }
    }

    fn see_version<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        let Some(end) = piece
            .iter()
            .position(|byte| matches!(byte, 0 | b',' | b'\n'))
        else {
            return &[];
        };
        if piece[end] != 0 {
            *self = Content::Text { lines: 0, last: 0 };
            return &piece[end..];
        }
        *self = Content::Binary(Binary {
            skip: HEAD,
            head: Vec::with_capacity(RECORD_HEADER),
            records: 0,
        });
        &piece[end + 1..]
    }

    fn is_torn(&self) -> bool {
        match self {
            Content::Version => true,
            Content::Binary(binary) => binary.skip > 0 || !binary.head.is_empty(),
            Content::Text { last, .. } => *last != b'\n',
        }
    }
}

impl Binary {
    /// Consumes the next item of the piece; returns the rest.
    fn see<'a>(&mut self, piece: &'a [u8]) -> &'a [u8] {
        if self.skip > 0 {
            let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
            let skipped = skip.min(piece.len());
            self.skip -= skipped as u64;
            return &piece[skipped..];
        }
        let (head, rest) = piece.split_at(piece.len().min(RECORD_HEADER - self.head.len()));
        self.head.extend_from_slice(head);
        if self.head.len() == RECORD_HEADER {
            self.skip = read_u32_be(&self.head, LENGTH).into();
            self.head.clear();
            self.records += 1;
        }
        rest
    }
}

/// Receives the decoder's output for a compressed stream.
impl Write for Content {
    fn write(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.see(piece);
        Ok(piece.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    /// Returns records with 0, 3 and 40 bytes of content, and the offset at which each ends.
    fn binary() -> (Vec<u8>, Vec<usize>) {
        let mut bytes = b"JAVA PROFILE 1.0.2\0\0\0\0\x08timetime".to_vec();
        let mut ends = vec![bytes.len()];
        for length in [0_u8, 3, 40] {
            bytes.extend([1, 0, 0, 0, 0, 0, 0, 0, length]);
            bytes.extend(vec![b','; usize::from(length)]);
            ends.push(bytes.len());
        }
        (bytes, ends)
    }

    fn seen(bytes: &[u8], step: usize) -> Watch {
        let mut watch = Watch::default();
        bytes.chunks(step).for_each(|piece| watch.see(piece));
        watch
    }

    fn compressed(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(bytes).expect("memory takes all");
        encoder.finish().expect("memory takes all")
    }

    #[test]
    fn a_binary_stream_is_whole_at_the_end_of_a_record() {
        let (bytes, ends) = binary();
        for end in 0..=bytes.len() {
            let torn = seen(&bytes[..end], 7).is_torn();
            assert_eq!(torn, !ends.contains(&end), "{end}");
        }
        for step in [1, 2, 1000] {
            assert_eq!(seen(&bytes, step).amount(), "3 records, 101 bytes");
        }
    }

    #[test]
    fn a_text_is_whole_at_the_end_of_a_line() {
        let text = b"JAVA PROFILE 1.0.1, created now\n\nmore\n";
        assert!(!seen(text, 5).is_torn());
        assert_eq!(seen(text, 5).amount(), "3 lines, 38 bytes");
        assert!(seen(&text[..36], 5).is_torn());
    }

    #[test]
    fn a_compressed_stream_needs_its_end() {
        let (bytes, _) = binary();
        let compressed = compressed(&bytes);
        let mut watch = seen(&compressed, 1);
        assert!(
            watch.amount().starts_with("3 records, "),
            "{}",
            watch.amount()
        );
        assert!(!watch.is_torn());
        for end in 0..compressed.len() {
            assert!(seen(&compressed[..end], 10).is_torn(), "{end}");
        }
        assert!(seen(b"\x1f is no gzip at all", 3).is_torn());
    }
}
