//! Finds the chunks of a recording, what describes them, and their events.

use std::collections::HashMap;
use std::io::Read;

use foldhash::fast::RandomState;

use super::chunk::Chunk;
use super::value::{Event, Struct, of_type};
use crate::constants::{CHECKPOINT, HEADER_SIZE, METADATA};
use crate::encoding::Bytes;
use crate::error::{Fault, ReadError};
use crate::header::Header;
use crate::metadata::Metadata;

/// Reads the chunks of a recording, one after another. One at a time is in memory.
#[derive(Debug)]
pub struct Chunks<R> {
    source: R,
    /// The place of the next chunk.
    offset: u64,
    ended: bool,
}

impl<R: Read> Chunks<R> {
    /// Reads from a source that begins with a chunk.
    pub fn new(source: R) -> Chunks<R> {
        Chunks {
            source,
            offset: 0,
            ended: false,
        }
    }

    /// Reads the next chunk; returns `None` after the last.
    ///
    /// # Errors
    /// [`ReadError`]. After a chunk whose content is damaged the next one can be read, because the header has its length;
    /// after a damaged header there is no chunk.
    pub fn read(&mut self) -> Result<Option<Chunk>, ReadError> {
        if self.ended {
            return Ok(None);
        }
        self.ended = true;
        let Some((header, bytes)) = self.header_and_bytes()? else {
            return Ok(None);
        };
        self.ended = false;
        let offset = self.offset;
        self.offset += bytes.len() as u64;
        Chunk::new(header, offset, bytes).map(Some)
    }

    fn header_and_bytes(&mut self) -> Result<Option<(Header, Vec<u8>)>, ReadError> {
        let mut bytes = Vec::new();
        self.take(HEADER_SIZE as u64, &mut bytes)?;
        if bytes.is_empty() {
            return Ok(None);
        }
        let fault = |at: usize, fault| ReadError::Format {
            offset: self.offset + at as u64,
            fault,
        };
        let truncated = |wanted, bytes: &[u8]| {
            let left = bytes.len() as u64;
            fault(0, Fault::Truncated { wanted, left })
        };
        let head = match bytes.first_chunk::<HEADER_SIZE>() {
            Some(head) => head,
            None if !bytes.starts_with(&crate::MAGIC) => return Err(fault(0, Fault::NoChunk)),
            None => return Err(truncated(HEADER_SIZE as u64, &bytes)),
        };
        let header = Header::read(head).map_err(|(at, what)| fault(at, what))?;
        self.take(header.size - HEADER_SIZE as u64, &mut bytes)?;
        if (bytes.len() as u64) < header.size {
            let left = bytes.len() as u64;
            let offset = self.offset;
            let wanted = header.size;
            let fault = Fault::Truncated { wanted, left };
            return Err(ReadError::Format { offset, fault });
        }
        Ok(Some((header, bytes)))
    }

    fn take(&mut self, count: u64, bytes: &mut Vec<u8>) -> Result<(), ReadError> {
        self.source.by_ref().take(count).read_to_end(bytes)?;
        Ok(())
    }
}

impl Chunk {
    fn new(header: Header, offset: u64, bytes: Vec<u8>) -> Result<Chunk, ReadError> {
        let mut chunk = Chunk {
            header,
            offset,
            bytes,
            metadata: Metadata::default(),
            constants: HashMap::default(),
        };
        // A chunk that was flushed several times has several; the last knows all types.
        let (mut metadata, mut checkpoints) = (None, Vec::new());
        let mut all = chunk.content();
        while all.left() > 0 {
            let (kind, content) = all.event()?;
            match kind {
                METADATA => metadata = Some(content),
                CHECKPOINT => checkpoints.push(content.at()..content.end()),
                _ => {}
            }
        }
        let Some(mut metadata) = metadata else {
            return Err(all.fault_at(0, Fault::NoMetadata));
        };
        // Time, duration and the number of the metadata.
        for _ in 0..3 {
            metadata.long()?;
        }
        let metadata = Metadata::read(&mut metadata)?;
        chunk.metadata = metadata;
        let mut constants = HashMap::default();
        for place in checkpoints {
            let content = chunk.all().within(place);
            chunk.checkpoint(content, &mut constants)?;
        }
        chunk.constants = constants;
        Ok(chunk)
    }

    /// Notes where the constants of a checkpoint are.
    fn checkpoint(
        &self,
        mut bytes: Bytes<'_>,
        constants: &mut HashMap<(u64, u64), usize, RandomState>,
    ) -> Result<(), ReadError> {
        // Time, duration, the way to the checkpoint before, and its kind.
        for _ in 0..3 {
            bytes.long()?;
        }
        bytes.u8()?;
        for _ in 0..bytes.count()? {
            let at = bytes.at();
            let id = bytes.long()?;
            let of = self.metadata.of(id);
            let of = of.ok_or_else(|| bytes.fault_at(at, Fault::NoType(id)))?;
            for _ in 0..bytes.count()? {
                let key = bytes.long()?;
                constants.insert((id, key), bytes.at());
                // Only its end is of interest.
                let mut value = self.all().within(bytes.at()..bytes.end());
                of_type(self, of, &mut value, 0)?;
                bytes = bytes.from(value.at());
            }
        }
        Ok(())
    }

    /// Iterates over its events, in the order of the file. An error ends it.
    #[must_use]
    pub fn events(&self) -> Events<'_> {
        Events {
            chunk: self,
            bytes: self.content(),
        }
    }
}

/// The events of a chunk.
#[derive(Debug)]
pub struct Events<'a> {
    chunk: &'a Chunk,
    bytes: Bytes<'a>,
}

impl<'a> Iterator for Events<'a> {
    type Item = Result<Event<'a>, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.bytes.left() > 0 {
            let at = self.bytes.at();
            let read = self.bytes.event();
            let (kind, bytes) = match read {
                Ok(event) => event,
                Err(error) => {
                    self.bytes = self.bytes.from(self.bytes.end());
                    return Some(Err(error));
                }
            };
            if matches!(kind, METADATA | CHECKPOINT) {
                continue;
            }
            let chunk = self.chunk;
            let offset = chunk.offset + at as u64;
            return Some(match chunk.metadata.of(kind) {
                Some(of) => Ok(Event {
                    values: Struct { chunk, of, bytes },
                    offset,
                }),
                None => {
                    self.bytes = self.bytes.from(self.bytes.end());
                    Err(bytes.fault_at(at, Fault::NoType(kind)))
                }
            });
        }
        None
    }
}
