//! Reads a file in the binary format, record by record.

mod error;
mod heap;

use std::fmt;
use std::io::{self, Read, Seek};

use crate::bytes::read_u32_be;
use crate::clock::Clock;
use crate::encode::{Micros, Millis};
use crate::fields::Misfit;
use crate::id_size::IdSize;
use crate::record::RecordKind;
use crate::record::{Record, Rows};
use crate::window::Window;

pub use error::ReadError;
pub use heap::{HeapEntry, HeapItem};

/// The beginning of every version string.
const MAGIC: &[u8] = b"JAVA PROFILE ";

/// The size of a version string, including the final NUL, in bytes.
const VERSION_LENGTH: usize = MAGIC.len() + 6;

/// The size of the file header: the version string, the size of ids, and the time stamp, in bytes.
pub(crate) const HEADER_LENGTH: usize = VERSION_LENGTH + 4 + 8;

/// The size of a record header of the binary format: tag, time, length, in bytes.
pub const RECORD_HEADER: usize = 1 + 4 + 4;

/// The size in bytes of the largest record that is read, except for heap dumps: 2.6 million rows of ALLOC SITES, the
/// longest ones. A compressed file of a thousandth of the size can hold a larger one.
pub(crate) const LARGEST_RECORD: usize = 64 << 20;

/// A version of the binary format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Version {
    /// `JAVA PROFILE 1.0.1`: a heap dump is one record.
    V1_0_1,
    /// `JAVA PROFILE 1.0.2`: a heap dump may come in segments.
    V1_0_2,
    /// `JAVA PROFILE 1.0.3`: Android's, with more kinds of roots.
    V1_0_3,
}

impl fmt::Display for Version {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Version::V1_0_1 => "1.0.1",
            Version::V1_0_2 => "1.0.2",
            Version::V1_0_3 => "1.0.3",
        })
    }
}

/// The header of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version of the format.
    pub version: Version,
    /// The size of ids.
    pub id_size: IdSize,
    /// The time from which the times of records are counted.
    pub time: Millis,
}

/// A record of a file, and its position.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry<'a> {
    /// The offset of the record, in bytes from the start of the file.
    pub offset: u64,
    /// The time at which it was written, counted from [`Header::time`]; wraps of the format's time field are undone.
    pub time: Micros,
    /// The content.
    pub item: Item<'a>,
    /// The bytes of the record as in the file; of a heap dump or a segment of one its header of [`RECORD_HEADER`] bytes.
    pub bytes: &'a [u8],
}

/// An item in a file.
#[derive(Clone, Debug, PartialEq)]
pub enum Item<'a> {
    /// A record with all its content.
    Record(Record<'a>),
    /// A heap dump or a segment of one. [`Reader::read_heap`] reads its content, [`Reader::read`] skips it.
    HeapDump {
        /// `true` for a segment (0x1C), `false` for a whole dump (0x0C).
        segment: bool,
        /// The size of its content, in bytes.
        length: u32,
    },
    /// The end of the segments of a heap dump (0x2C).
    HeapDumpEnd,
}

impl Item<'_> {
    /// Returns the kind of the item.
    #[must_use]
    pub fn kind(&self) -> RecordKind {
        match self {
            Item::Record(record) => record.kind(),
            Item::HeapDump { segment: false, .. } => RecordKind::HeapDump,
            Item::HeapDump { segment: true, .. } => RecordKind::HeapDumpSegment,
            Item::HeapDumpEnd => RecordKind::HeapDumpEnd,
        }
    }
}

/// Reads a file in the binary format from its start to its end, in one pass.
///
/// The source need not be buffered. Memory is bounded by the longest record, which may take 64 MiB (heap dumps may take
/// more: they are read record by record, and long arrays in pieces), and by the bytes that the source really supplies,
/// whatever lengths a damaged file claims.
#[derive(Debug)]
pub struct Reader<R> {
    window: Window<R>,
    header: Header,
    clock: Clock,
    rows: Rows,
    /// The number of bytes of the last record that have not been read or skipped.
    unread: u64,
    /// The offset of that record.
    unread_offset: u64,
    /// The state of reading inside that record.
    heap: heap::State,
    /// `true` after a segment of a heap dump whose end has not been read.
    dump_is_open: bool,
}

impl<R: Read> Reader<R> {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// [`ReadError`], if `source` fails or does not start with the header of an HPROF file in the binary format.
    pub fn new(source: R) -> Result<Reader<R>, ReadError> {
        let mut window = Window::new(source);
        let header = read_header(&mut window)?;
        Ok(Reader {
            window,
            header,
            clock: Clock::default(),
            rows: Rows::default(),
            unread: 0,
            unread_offset: 0,
            heap: heap::State::Closed,
            dump_is_open: false,
        })
    }

    /// Returns the file's header.
    pub fn header(&self) -> Header {
        self.header
    }

    /// Returns the offset of the next record: after the last one, the size of the file in bytes. Records inside a heap
    /// dump do not count.
    pub fn position(&self) -> u64 {
        self.window.position() + self.unread
    }

    /// After the last record: fails if the last heap dump has no end, as one whose writer was killed between two segments.
    ///
    /// # Errors
    /// [`ReadError::NoDumpEnd`].
    pub fn check_end(&self) -> Result<(), ReadError> {
        match self.dump_is_open {
            true => Err(ReadError::NoDumpEnd {
                offset: self.position(),
            }),
            false => Ok(()),
        }
    }

    /// Reads the next record; `None` after the last one.
    ///
    /// # Errors
    /// [`ReadError`]. If it is about one record (unknown tag, too large, wrong length, wrong value), the next call
    /// continues after that record; after any other error, reading cannot continue.
    pub fn read(&mut self) -> Result<Option<Entry<'_>>, ReadError> {
        let unread = std::mem::take(&mut self.unread);
        self.heap = heap::State::Closed;
        self.skip(unread, self.unread_offset)?;

        let offset = self.window.position();
        let Some((tag, time, length)) = self.record_header(offset)? else {
            return Ok(None);
        };
        let time = self.clock.read(time);
        let Some(kind) = RecordKind::from_tag(tag) else {
            self.window.take(RECORD_HEADER);
            (self.unread, self.unread_offset) = (length.into(), offset);
            return Err(ReadError::UnknownTag { offset, tag });
        };
        if matches!(kind, RecordKind::HeapDump | RecordKind::HeapDumpSegment) {
            (self.unread, self.unread_offset) = (length.into(), offset);
            self.heap = heap::State::Between(kind);
            self.dump_is_open = kind == RecordKind::HeapDumpSegment;
            let item = Item::HeapDump {
                segment: kind == RecordKind::HeapDumpSegment,
                length,
            };
            return Ok(Some(Entry {
                offset,
                time,
                item,
                bytes: self.window.take(RECORD_HEADER),
            }));
        }

        let wanted = RECORD_HEADER.saturating_add(length as usize);
        let largest = RECORD_HEADER + LARGEST_RECORD;
        let available = fill(&mut self.window, wanted.min(largest))?;
        if available < wanted.min(largest) {
            return Err(self.truncated(offset, wanted, available));
        }
        if wanted > largest {
            self.window.take(RECORD_HEADER);
            (self.unread, self.unread_offset) = (length.into(), offset);
            return Err(ReadError::TooLarge {
                offset,
                kind,
                length,
            });
        }
        let bytes = self.window.take(wanted);
        let body = &bytes[RECORD_HEADER..];
        let item = match Record::decode(kind, self.header.id_size, body, &mut self.rows) {
            Ok(Some(Record::HeapDumpEnd(_)) | None) => {
                self.dump_is_open = false;
                Item::HeapDumpEnd
            }
            Ok(Some(record)) => Item::Record(record),
            Err(misfit) => return Err(misfit.at(offset, kind, length)),
        };
        Ok(Some(Entry {
            offset,
            time,
            item,
            bytes,
        }))
    }

    /// Returns tag, time and length of the next record, which stay in the window; `None` at the end of the file.
    fn record_header(&mut self, offset: u64) -> Result<Option<(u8, u32, u32)>, ReadError> {
        let available = fill(&mut self.window, RECORD_HEADER)?;
        let Some(header) = self.window.bytes().get(..RECORD_HEADER) else {
            if available == 0 {
                return Ok(None);
            }
            return Err(self.truncated(offset, RECORD_HEADER, available));
        };
        let (time, length) = (read_u32_be(header, 1), read_u32_be(header, 5));
        Ok(Some((header[0], time, length)))
    }

    /// Returns the error for the record at `offset`, of whose first `wanted` bytes only `available` exist.
    fn truncated(&mut self, offset: u64, wanted: usize, available: usize) -> ReadError {
        // The rest of the record is not the start of another one.
        self.window.take(available);
        ReadError::Truncated {
            offset,
            missing: (wanted - available) as u64,
        }
    }

    /// Skips `count` bytes of the record at `offset`.
    fn skip(&mut self, count: u64, offset: u64) -> Result<(), ReadError> {
        let skipped = self.window.skip(count);
        match skipped.map_err(|error| io_error(&self.window, error))? {
            0 => Ok(()),
            missing => Err(ReadError::Truncated { offset, missing }),
        }
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Goes back, or forward, to the record at `offset`, an [`Entry::offset`] that was returned before. Wraps of the
    /// time in between are not undone.
    ///
    /// # Errors
    /// [`ReadError::Io`], if the source cannot seek there.
    pub fn seek(&mut self, offset: u64) -> Result<(), ReadError> {
        self.unread = 0;
        self.heap = heap::State::Closed;
        let done = self.window.seek(offset);
        done.map_err(|error| io_error(&self.window, error))
    }
}

impl Misfit {
    fn at(self, offset: u64, kind: RecordKind, length: u32) -> ReadError {
        match self {
            Misfit::Short { needed } => ReadError::TooShort {
                offset,
                kind,
                length,
                needed,
            },
            Misfit::Long { needed } => ReadError::TooLong {
                offset,
                kind,
                length,
                needed,
            },
            Misfit::Value { field, value } => ReadError::Value {
                offset,
                kind,
                field,
                value,
            },
        }
    }
}

fn read_header<R: Read>(window: &mut Window<R>) -> Result<Header, ReadError> {
    let available = fill(window, HEADER_LENGTH)?;
    let bytes = &window.bytes()[..available];
    let same = bytes
        .iter()
        .zip(MAGIC)
        .take_while(|(byte, magic)| byte == magic)
        .count();
    if same < MAGIC.len() {
        return Err(ReadError::NotHprof {
            offset: same as u64,
        });
    }
    let Some(version) = bytes.get(MAGIC.len()..VERSION_LENGTH) else {
        return Err(truncated_header(available));
    };
    let version = match version {
        b"1.0.1\0" => Version::V1_0_1,
        b"1.0.2\0" => Version::V1_0_2,
        b"1.0.3\0" => Version::V1_0_3,
        [_, _, _, _, _, b','] => {
            return Err(ReadError::TextFormat {
                offset: VERSION_LENGTH as u64 - 1,
            });
        }
        _ => {
            return Err(ReadError::UnknownVersion {
                offset: MAGIC.len() as u64,
            });
        }
    };
    let Some((id_size, time)) = bytes[VERSION_LENGTH..].split_first_chunk() else {
        return Err(truncated_header(available));
    };
    let id_size = match u32::from_be_bytes(*id_size) {
        4 => IdSize::Four,
        8 => IdSize::Eight,
        size => {
            return Err(ReadError::IdSize {
                offset: VERSION_LENGTH as u64,
                size,
            });
        }
    };
    let Some(time) = time.first_chunk() else {
        return Err(truncated_header(available));
    };
    let time = Millis(u64::from_be_bytes(*time));
    window.take(HEADER_LENGTH);
    Ok(Header {
        version,
        id_size,
        time,
    })
}

fn truncated_header(available: usize) -> ReadError {
    ReadError::TruncatedHeader {
        offset: available as u64,
        missing: (HEADER_LENGTH - available) as u64,
    }
}

fn fill<R: Read>(window: &mut Window<R>, wanted: usize) -> Result<usize, ReadError> {
    window.fill(wanted).map_err(|error| io_error(window, error))
}

fn io_error<R: Read>(window: &Window<R>, error: io::Error) -> ReadError {
    ReadError::Io {
        offset: window.position() + window.bytes().len() as u64,
        error,
    }
}
