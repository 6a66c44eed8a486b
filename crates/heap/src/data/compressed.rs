//! Dumps in gzip files. Their content is in a temporary file, with the same offsets: all of it when the dump is read for
//! the first time, later only what its index has of it, and what is unpacked because a question needs it.

use std::fs::File;
use std::io::{self, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use hprof_format::{AccessPoint, AccessPoints, unpack_from};
use hprof_os::files;

use crate::data::error::Error;
use crate::data::mapping::Mapped;
use crate::data::memory::{Memory, Numbers};
use crate::data::sections::{SectionReader, SectionWriter};

/// The share of the free room that may be filled: one minus one in so many.
const SPARE: u64 = 10;
/// The numbers of an access point.
type Point = [u64; 4];

/// A gzip file, and what has been unpacked of it.
#[derive(Debug)]
pub(crate) struct Compressed {
    file: Mapped,
    /// The temporary file.
    content: File,
    length: u64,
    points: Numbers<Point>,
    windows: Numbers<u8>,
    /// `true` for what has been unpacked, from each access point to the next.
    spans: Vec<Mutex<bool>>,
    /// The bytes that may still be written to the temporary file.
    room: Mutex<u64>,
    /// The parts of the content that came from the index, in their order.
    known: Vec<Range<usize>>,
    /// The index that they came from.
    index: Option<(PathBuf, Arc<Mapped>)>,
}

/// The sections of an index with the parts of the content that every question needs.
pub(crate) struct CompressedSections {
    length: u64,
    points: Numbers<Point>,
    windows: Numbers<u8>,
    /// The offset and the length of each part.
    parts: Vec<[u64; 2]>,
    bytes: Numbers<u8>,
}

impl Compressed {
    /// Returns a file whose content has been unpacked as a whole.
    pub(crate) fn unpacked(
        file: &File,
        content: &File,
        points: &AccessPoints,
        memory: &Memory,
    ) -> io::Result<Compressed> {
        let mut table: Numbers<Point> = memory.table(points.points.len())?;
        for (entry, point) in table.iter_mut().zip(&points.points) {
            *entry = [point.content, point.file, point.bits, point.window_end];
        }
        let mut windows: Numbers<u8> = memory.table(points.windows.len())?;
        windows.copy_from_slice(&points.windows);
        Ok(Compressed {
            file: Mapped::of(file)?,
            content: content.try_clone()?,
            length: points.length,
            spans: table.iter().map(|_| Mutex::new(true)).collect(),
            points: table,
            windows,
            room: Mutex::new(0),
            known: Vec::new(),
            index: None,
        })
    }

    /// Returns a file of which nothing has been unpacked but what is in its index. `content` must be empty.
    pub(crate) fn from_index(
        file: Mapped,
        content: &File,
        sections: CompressedSections,
        index: (PathBuf, Arc<Mapped>),
    ) -> io::Result<Compressed> {
        content.set_len(sections.length)?;
        let mut known: Vec<Range<usize>> = Vec::with_capacity(sections.parts.len());
        let mut rest = &sections.bytes[..];
        for &[offset, length] in &sections.parts {
            let impossible = || io::Error::from(io::ErrorKind::InvalidData);
            let end = offset.checked_add(length).ok_or_else(impossible)?;
            let is_in_order = known.last().is_none_or(|last| last.end as u64 <= offset);
            if !is_in_order || end > sections.length {
                return Err(impossible());
            }
            let length = usize::try_from(length).map_err(|_| impossible())?;
            let (part, others) = rest.split_at_checked(length).ok_or_else(impossible)?;
            files::write_all_at(content, part, offset)?;
            rest = others;
            // Both are below the length of a file that can be mapped.
            known.push(offset as usize..end as usize);
        }
        let free = files::free_space(content)?;
        Ok(Compressed {
            file,
            content: content.try_clone()?,
            length: sections.length,
            spans: sections.points.iter().map(|_| Mutex::new(false)).collect(),
            points: sections.points,
            windows: sections.windows,
            room: Mutex::new(free - free / SPARE),
            known,
            index: Some(index),
        })
    }

    /// Returns `true` if not all of the content has been unpacked.
    pub(crate) fn has_gaps(&self) -> bool {
        self.index.is_some()
    }

    /// Returns the compressed file.
    pub(crate) fn file(&self) -> &Mapped {
        &self.file
    }

    /// Returns the index at this path if the content came from it: it has been checked.
    pub(crate) fn index_at(&self, path: &Path) -> Option<&Arc<Mapped>> {
        let (own, index) = self.index.as_ref()?;
        (own == path).then_some(index)
    }

    /// Makes the content available from `start` on; returns the end of what is available, which is above `start` unless
    /// the content ends there, and at least `wanted` if there is so much.
    pub(crate) fn provide(&self, start: usize, wanted: usize) -> Result<usize, Error> {
        let place = self.known.partition_point(|part| part.end <= start);
        if let Some(part) = self.known.get(place)
            && part.contains(&start)
            && part.end >= wanted
        {
            return Ok(part.end);
        }
        let first = self
            .points
            .partition_point(|point| point[0] <= start as u64);
        for span in first.saturating_sub(1)..self.spans.len() {
            let end = self.unpack(span)?;
            if end > start as u64 && end >= wanted as u64 {
                return Ok(end as usize);
            }
        }
        Ok(self.length as usize)
    }

    /// Unpacks the content from an access point to the next one, unless that has been done; returns its end.
    fn unpack(&self, span: usize) -> Result<u64, Error> {
        let [start, file, bits, window_end] = self.points[span];
        let end = self
            .points
            .get(span + 1)
            .map_or(self.length, |next| next[0]);
        let mut is_there = self.spans[span]
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if *is_there {
            return Ok(end);
        }
        let length = end.checked_sub(start).ok_or(Error::Changed)?;
        self.take_room(length)?;
        let window_start = span
            .checked_sub(1)
            .map_or(0, |before| self.points[before][3]);
        let window = self.windows.get(window_start as usize..window_end as usize);
        let point = AccessPoint {
            content: start,
            file,
            bits,
            window_end,
        };
        let mut at = start;
        unpack_from(
            &self.file,
            &point,
            window.unwrap_or_default(),
            length,
            |piece| {
                files::write_all_at(&self.content, piece, at)?;
                at += piece.len() as u64;
                Ok(())
            },
        )?;
        *is_there = true;
        Ok(end)
    }

    /// Writes the sections with these parts of the content.
    pub(crate) fn save(
        &self,
        parts: &[Range<usize>],
        content: &[u8],
        out: &mut SectionWriter<impl Write>,
    ) -> io::Result<()> {
        let places = parts
            .iter()
            .map(|part| [part.start as u64, part.len() as u64]);
        let bytes = parts.iter().filter_map(|part| content.get(part.clone()));
        out.table(&[self.length])?;
        out.table(&self.points)?;
        out.table(&self.windows)?;
        out.table(&places.collect::<Vec<[u64; 2]>>())?;
        out.table(&bytes.flatten().copied().collect::<Vec<u8>>())
    }

    fn take_room(&self, bytes: u64) -> io::Result<()> {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        *room = room.checked_sub(bytes).ok_or_else(|| {
            let folder = std::env::temp_dir();
            let message = format!(
                "unpacking takes more than nine tenths of what is free in {}; TMPDIR names another folder",
                folder.display()
            );
            io::Error::new(io::ErrorKind::StorageFull, message)
        })?;
        Ok(())
    }
}

impl CompressedSections {
    /// Writes those of a dump in another file.
    pub(crate) fn save_none(out: &mut SectionWriter<impl Write>) -> io::Result<()> {
        (0..5).try_for_each(|_| out.table::<u8>(&[]))
    }

    /// Reads the sections; the inner `None` is that of a dump in another file.
    pub(crate) fn load(index: &mut SectionReader) -> Option<Option<CompressedSections>> {
        let length: Vec<u64> = index.list()?;
        let sections = CompressedSections {
            length: length.first().copied().unwrap_or_default(),
            points: index.table()?,
            windows: index.table()?,
            parts: index.list()?,
            bytes: index.table()?,
        };
        Some((!length.is_empty()).then_some(sections))
    }
}
