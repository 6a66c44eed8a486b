//! The sections of an index file: tables, one after the other, each after its length in bytes and from a multiple of
//! eight bytes on.

use std::io::{self, Write};
use std::sync::Arc;

use bytemuck::Pod;
use foldhash::HashMap;

use crate::data::mapping::Mapped;
use crate::data::memory::{Memory, Numbers};

/// The unit of the positions of sections.
const UNIT: usize = 8;

/// Writes sections.
pub(crate) struct SectionWriter<W> {
    out: W,
}

impl<W: Write> SectionWriter<W> {
    pub(crate) fn new(out: W) -> SectionWriter<W> {
        SectionWriter { out }
    }

    pub(crate) fn table<T: Pod>(&mut self, entries: &[T]) -> io::Result<()> {
        let bytes: &[u8] = bytemuck::cast_slice(entries);
        self.out.write_all(&(bytes.len() as u64).to_ne_bytes())?;
        self.out.write_all(bytes)?;
        let padding = bytes.len().next_multiple_of(UNIT) - bytes.len();
        self.out.write_all(&[0; UNIT][..padding])
    }

    pub(crate) fn map(&mut self, map: &HashMap<u32, u64>) -> io::Result<()> {
        let entries = map.iter().map(|(&key, &value)| [key.into(), value]);
        let mut entries: Vec<[u64; 2]> = entries.collect();
        entries.sort_unstable();
        self.table(&entries)
    }

    pub(crate) fn finish(self) -> W {
        self.out
    }
}

/// Reads sections in the order in which they were written. All of it returns `None` where a section is not what is
/// expected.
pub(crate) struct SectionReader {
    file: Arc<Mapped>,
    at: usize,
    memory: Memory,
}

impl SectionReader {
    /// Reads from a position on, which is a multiple of eight.
    pub(crate) fn new(file: Arc<Mapped>, at: usize, memory: &Memory) -> SectionReader {
        let memory = memory.clone();
        SectionReader { file, at, memory }
    }

    /// Returns a table that stays in the file.
    pub(crate) fn table<T: Pod>(&mut self) -> Option<Numbers<T>> {
        let start = self.at.checked_add(UNIT)?;
        let length = self.file.get(self.at..start)?.try_into().ok()?;
        let length = usize::try_from(u64::from_ne_bytes(length)).ok()?;
        let end = start.checked_add(length)?;
        let table = Mapped::part(&self.file, start..end)?;
        self.at = end.checked_next_multiple_of(UNIT)?;
        Some(Numbers::mapped(table, &self.memory))
    }

    pub(crate) fn list<T: Pod>(&mut self) -> Option<Vec<T>> {
        self.table().map(|table| table.to_vec())
    }

    /// Returns a section that has exactly one entry.
    pub(crate) fn one<T: Pod>(&mut self) -> Option<T> {
        match self.table::<T>()?[..] {
            [entry] => Some(entry),
            _ => None,
        }
    }

    pub(crate) fn map(&mut self) -> Option<HashMap<u32, u64>> {
        let entries = self.list::<[u64; 2]>()?.into_iter();
        let entries = entries.map(|[key, value]| Some((u32::try_from(key).ok()?, value)));
        entries.collect()
    }

    /// Returns `true` if there are no further sections.
    pub(crate) fn is_at_end(&self) -> bool {
        self.at == self.file.len()
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }
}
