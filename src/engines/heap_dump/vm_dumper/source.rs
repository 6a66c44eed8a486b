//! The VM's dump file, read once from start to end in pieces of bounded size.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use hprof_format::RECORD_HEADER;
use memory::{List, OrStop};

use super::temporary::Folder;
use crate::engines::heap_dump::DumpError;
use crate::os::{OPEN_FILES_KEEP_THEIR_NAMES, read_exact_at};

/// The number of bytes read at once: they should stay in a CPU's cache until they are written again.
const READ: usize = 256 * 1024;
/// The beginning of the file: a version, the size of an id (4 bytes), a time (8 bytes).
const VERSION: &[u8] = b"JAVA PROFILE 1.0.";
const HEAD_BEHIND_VERSION: usize = 12;
/// The tags of HEAP DUMP and HEAP DUMP SEGMENT.
const HEAP_TAGS: [u8; 2] = [0x0C, 0x1C];

/// Receives the contents of a dump.
pub(super) trait Visitor {
    /// Called with a record outside the heap; `body` is complete.
    fn record(&mut self, tag: u8, body: &[u8]) -> Result<(), DumpError>;

    /// Called with heap records, from the start of one; the last may be truncated. They are at `offset` in the file.
    fn heap(&mut self, block: &mut [u8], offset: u64) -> Result<DumpProgress, DumpError>;
}

/// The progress of a visitor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DumpProgress {
    /// It has consumed that many bytes, more than 0; a number greater than the block's length skips the rest.
    Done(u64),
    /// The first record takes that many bytes, more than the block has.
    Needs(u64),
}

/// The file and a window into it.
pub(super) struct Source {
    file: File,
    buffer: List<u8>,
    /// `buffer[start..end]` has been read and not consumed.
    start: usize,
    end: usize,
    /// The position of `start` in the file.
    offset: u64,
    /// The folder that goes with it, once the file is closed.
    folder: Option<Folder>,
}

impl Source {
    pub(super) fn open(path: &Path) -> Result<Self, DumpError> {
        let mut source = Self {
            file: File::open(path)?,
            buffer: List::new(),
            start: 0,
            end: 0,
            offset: 0,
            folder: None,
        };
        source.skip_head()?;
        Ok(source)
    }

    /// Has the folder of the file removed: now if the system lets go of an open file's name, otherwise when the file is closed.
    pub(super) fn remove_with(&mut self, folder: Folder) {
        self.folder = Some(folder).filter(|_| OPEN_FILES_KEEP_THEIR_NAMES);
    }

    /// Goes back to the beginning.
    pub(super) fn rewind(&mut self) -> Result<(), DumpError> {
        self.file.rewind()?;
        (self.start, self.end, self.offset) = (0, 0, 0);
        self.skip_head()
    }

    /// Passes everything from here to the end to the visitor.
    pub(super) fn visit(&mut self, visitor: &mut impl Visitor) -> Result<(), DumpError> {
        while self.try_fill(1)? {
            self.fill(RECORD_HEADER)?;
            let head = self.take(RECORD_HEADER);
            let tag = head[0];
            let length = u32::from_be_bytes([head[5], head[6], head[7], head[8]]);
            if HEAP_TAGS.contains(&tag) {
                self.visit_heap(length.into(), visitor)?;
            } else {
                self.fill(length as usize)?;
                visitor.record(tag, self.take(length as usize))?;
            }
        }
        Ok(())
    }

    /// Reads bytes at a position in the file.
    pub(super) fn read_at(&self, offset: u64, length: usize) -> Result<List<u8>, DumpError> {
        let mut bytes = List::repeated(0, length).or_stop();
        read_exact_at(&self.file, &mut bytes, offset)?;
        Ok(bytes)
    }

    fn visit_heap(&mut self, mut rest: u64, visitor: &mut impl Visitor) -> Result<(), DumpError> {
        while rest > 0 {
            memory::stop_if_out();
            self.fill(1)?;
            let buffered = self.end - self.start;
            let length = usize::try_from(rest).map_or(buffered, |rest| rest.min(buffered));
            let block = &mut self.buffer[self.start..self.start + length];
            let progress = visitor.heap(block, self.offset)?;
            match progress {
                DumpProgress::Done(used) if used > 0 && used <= rest => {
                    self.skip(used)?;
                    rest -= used;
                }
                DumpProgress::Needs(needed) if needed > length as u64 && needed <= rest => {
                    #[expect(clippy::cast_possible_truncation, reason = "`rest` came from 32 bits")]
                    let needed = needed as usize;
                    self.fill(needed)?;
                }
                _ => return Err(self.error("a record ends after its segment")),
            }
        }
        Ok(())
    }

    fn skip_head(&mut self) -> Result<(), DumpError> {
        self.fill(VERSION.len() + 2 + HEAD_BEHIND_VERSION)?;
        let head = self.take(VERSION.len() + 2 + HEAD_BEHIND_VERSION);
        let id_size = &head[VERSION.len() + 2..VERSION.len() + 6];
        if head.starts_with(VERSION) && id_size == [0, 0, 0, 8] {
            return Ok(());
        }
        Err(self.error("it is not of a version that is known, with ids of 8 bytes"))
    }

    fn error(&self, what: &'static str) -> DumpError {
        DumpError::Content {
            offset: self.offset,
            what,
        }
    }

    fn fill(&mut self, length: usize) -> Result<(), DumpError> {
        match self.try_fill(length)? {
            true => Ok(()),
            false => Err(self.error("it ends inside a record")),
        }
    }

    /// Reads until the window has that many bytes; returns `false` at the end of the file.
    fn try_fill(&mut self, length: usize) -> io::Result<bool> {
        if self.end - self.start >= length {
            return Ok(true);
        }
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.start = 0;
        let wanted = length.max(READ);
        if self.buffer.len() < wanted {
            self.buffer.resize(wanted, 0).or_stop();
        }
        while self.end < length {
            match self.file.read(&mut self.buffer[self.end..])? {
                0 => return Ok(false),
                count => self.end += count,
            }
        }
        Ok(true)
    }

    fn take(&mut self, length: usize) -> &[u8] {
        let bytes = &self.buffer[self.start..self.start + length];
        self.start += length;
        self.offset += length as u64;
        bytes
    }

    fn skip(&mut self, length: u64) -> io::Result<()> {
        let buffered = self.end - self.start;
        self.offset += length;
        if let Ok(length) = usize::try_from(length)
            && length <= buffered
        {
            self.start += length;
            return Ok(());
        }
        (self.start, self.end) = (0, 0);
        self.file.seek(SeekFrom::Start(self.offset))?;
        Ok(())
    }
}
