//! One heap dump of a file, with what the file says outside of it: names, frames, stacks.

use std::fs::File;
use std::io::Cursor;
use std::ops::Range;
use std::panic::resume_unwind;
use std::thread;

use foldhash::HashMap;
use hprof_format::{
    HeapError, HeapRecords, IdSize, Item, Line, RawHeapRecord, ReadError, Reader, Record, Version,
};
use memmap2::Mmap;

use crate::progress::{Progress, Silent};
use crate::{Error, mapping, names};

/// Bytes of what a record starts with.
const RECORD_HEADER: u64 = 9;

/// A smaller part is not worth a thread.
const LEAST_PART: u64 = 1 << 20;

/// A heap dump in a mapped file.
#[derive(Debug)]
pub struct Dump {
    bytes: Mmap,
    id_size: IdSize,
    version: Version,
    /// Where in the file its content is.
    segments: Vec<Range<usize>>,
    /// Which of the file's dumps it is, from 1, and how many there are as far as was looked.
    place: (usize, usize),
    tables: Tables,
}

/// What stands outside of the dump.
#[derive(Debug, Default)]
struct Tables {
    /// Where in the file a string is.
    strings: HashMap<u64, Range<usize>>,
    /// The name of a class, by its object.
    class_names: HashMap<u64, u64>,
    /// The same by its serial number.
    class_serials: HashMap<u32, u64>,
    frames: HashMap<u64, RawFrame>,
    /// Where among [`Tables::trace_frames`] the frames of a trace are.
    traces: HashMap<u32, Range<usize>>,
    /// The frames of all traces.
    trace_frames: Vec<u64>,
}

#[derive(Debug)]
struct RawFrame {
    method: u64,
    source: u64,
    class: u32,
    line: Line,
}

/// A record of the dump and where it stands in the file.
pub(crate) struct Found<'a> {
    pub(crate) offset: u64,
    pub(crate) record: RawHeapRecord<'a>,
}

impl Dump {
    /// Finds the last dump of a file that is not compressed, or the `wanted`th, counted from 1.
    ///
    /// # Errors
    /// [`Error`], where the file cannot be read as HPROF to the dump's end or has no such dump.
    pub fn open(file: &File, wanted: Option<usize>) -> Result<Dump, Error> {
        let bytes = mapping::read_only(file)?;
        let mut reader = Reader::new(Cursor::new(&bytes[..]))?;
        let header = reader.header();
        let mut tables = Tables::default();
        let mut dumps = Dumps::default();
        while let Some(entry) = reader.read()? {
            let offset = entry.offset;
            match entry.item {
                Item::Record(record) => tables.add(&record, offset, header.id_size),
                Item::HeapDumpEnd => dumps.end(),
                Item::HeapDump { segment, length } => {
                    let content = within(&bytes, offset, length)?;
                    let end = content.end as u64;
                    dumps.add(content, segment);
                    reader.seek(end)?;
                }
            }
            if wanted.is_some_and(|wanted| dumps.count == wanted && !dumps.is_open) {
                break;
            }
        }
        if dumps.count == 0 {
            return Err(Error::NoDump);
        }
        if let Some(wanted) = wanted
            && wanted != dumps.count
        {
            let dumps = dumps.count;
            return Err(Error::NoSuchDump { wanted, dumps });
        }
        Ok(Dump {
            bytes,
            id_size: header.id_size,
            version: header.version,
            segments: dumps.segments,
            place: (wanted.unwrap_or(dumps.count), dumps.count),
            tables,
        })
    }

    pub(crate) fn id_size(&self) -> IdSize {
        self.id_size
    }

    pub(crate) fn is_android(&self) -> bool {
        self.version == Version::V1_0_3
    }

    /// Which of the file's dumps it is, from 1, and how many there are up to there.
    #[must_use]
    pub fn place(&self) -> (usize, usize) {
        self.place
    }

    /// Bytes of its content.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.len() as u64)
            .sum()
    }

    /// All its records, in the file's order. After an error there is no other record.
    pub(crate) fn records(&self) -> impl Iterator<Item = Result<Found<'_>, Error>> {
        let all = self.segments.iter().cloned();
        all.flat_map(|segment| self.records_in(segment))
    }

    /// Its segments in as many parts as there are cores, all of about the same length, in the file's order.
    pub(crate) fn parts(&self) -> Vec<&[Range<usize>]> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let each = (self.length() / cores as u64).max(LEAST_PART);
        let mut parts = Vec::new();
        let (mut start, mut bytes) = (0, 0);
        for (index, segment) in self.segments.iter().enumerate() {
            bytes += segment.len() as u64;
            if bytes >= each {
                parts.push(&self.segments[start..=index]);
                (start, bytes) = (index + 1, 0);
            }
        }
        if start < self.segments.len() || parts.is_empty() {
            parts.push(&self.segments[start..]);
        }
        parts
    }

    /// Does `pass` with each part, on a thread for each but the first, which is done here and may tell how far it is.
    pub(crate) fn in_parts<T: Send>(
        &self,
        progress: &dyn Progress,
        pass: impl Fn(&[Range<usize>], &dyn Progress) -> Result<T, Error> + Sync,
    ) -> Result<Vec<T>, Error> {
        let parts = self.parts();
        thread::scope(|scope| {
            let run = |part| {
                scope.spawn({
                    let pass = &pass;
                    move || pass(part, &Silent)
                })
            };
            let others: Vec<_> = parts[1..].iter().map(|&part| run(part)).collect();
            let first = pass(parts[0], progress);
            let others = others.into_iter().map(|pass| match pass.join() {
                Ok(done) => done,
                Err(panic) => resume_unwind(panic),
            });
            // Of several faults the first in the file counts.
            std::iter::once(first).chain(others).collect()
        })
    }

    /// The records of a part.
    pub(crate) fn records_of(
        &self,
        part: &[Range<usize>],
    ) -> impl Iterator<Item = Result<Found<'_>, Error>> {
        let part = part.iter().cloned();
        part.flat_map(|segment| self.records_in(segment))
    }

    /// The records from one that starts at `start` on.
    pub(crate) fn records_from(
        &self,
        start: u64,
    ) -> impl Iterator<Item = Result<Found<'_>, Error>> {
        let start = start as usize;
        let all = self.segments.iter().cloned();
        all.skip_while(move |segment| segment.end <= start)
            .flat_map(move |segment| self.records_in(segment.start.max(start)..segment.end))
    }

    fn records_in(&self, segment: Range<usize>) -> impl Iterator<Item = Result<Found<'_>, Error>> {
        let base = segment.start as u64;
        let mut records = HeapRecords::new(&self.bytes[segment], self.id_size);
        let mut failed = false;
        std::iter::from_fn(move || {
            if failed {
                return None;
            }
            let offset = base + records.offset() as u64;
            Some(match records.next()? {
                Ok(record) => Ok(Found { offset, record }),
                Err(error) => {
                    failed = true;
                    Err(record_error(offset, error))
                }
            })
        })
    }

    /// The bytes of a string; `None` where the file does not have it.
    pub(crate) fn string(&self, id: u64) -> Option<&[u8]> {
        let place = self.tables.strings.get(&id)?;
        self.bytes.get(place.clone())
    }

    pub(crate) fn text(&self, id: u64) -> String {
        self.string(id).map_or_else(String::new, names::printable)
    }

    /// The name of a class, by its object, as Java source has it.
    pub(crate) fn class_name(&self, object: u64) -> Option<String> {
        let name = self.tables.class_names.get(&object)?;
        self.string(*name).map(names::class_name)
    }

    /// The stack of a trace, innermost frame first; empty where the file does not have it.
    pub(crate) fn stack(&self, trace: u32) -> Vec<String> {
        let Some(trace) = self.tables.traces.get(&trace) else {
            return Vec::new();
        };
        let frames = &self.tables.trace_frames[trace.clone()];
        frames.iter().map(|&frame| self.frame(frame)).collect()
    }

    pub(crate) fn has_stack(&self, trace: u32) -> bool {
        let trace = self.tables.traces.get(&trace);
        trace.is_some_and(|frames| !frames.is_empty())
    }

    /// `Class.method(File.java:12)`.
    fn frame(&self, id: u64) -> String {
        let Some(frame) = self.tables.frames.get(&id) else {
            return format!("<unknown frame {id}>");
        };
        let class = self.tables.class_serials.get(&frame.class);
        let class = class.and_then(|&name| self.string(name));
        let class = class.map_or_else(|| "<unknown class>".to_owned(), names::class_name);
        let source = self.text(frame.source);
        let source = if source.is_empty() {
            "Unknown Source"
        } else {
            &source
        };
        let place = match frame.line {
            Line::Number(line) => format!("{source}:{line}"),
            Line::Unknown => source.to_owned(),
            Line::Compiled => format!("{source}:Compiled method"),
            Line::Native => format!("{source}:Native method"),
        };
        format!("{class}.{}({place})", self.text(frame.method))
    }
}

fn within(bytes: &[u8], offset: u64, length: u32) -> Result<Range<usize>, ReadError> {
    let start = offset + RECORD_HEADER;
    let end = start + u64::from(length);
    let missing = end.saturating_sub(bytes.len() as u64);
    if missing > 0 {
        return Err(ReadError::Truncated { offset, missing });
    }
    // Both are places in a slice.
    Ok(start as usize..end as usize)
}

pub(crate) fn record_error(offset: u64, mut error: HeapError) -> Error {
    match &mut error {
        HeapError::Incomplete { offset, .. }
        | HeapError::UnknownTag { offset, .. }
        | HeapError::Value { offset, .. } => *offset = 0,
    }
    Error::Record { offset, error }
}

/// The dumps of a file, of which the last is kept.
#[derive(Default)]
struct Dumps {
    segments: Vec<Range<usize>>,
    count: usize,
    /// Whether segments of the last one may still come.
    is_open: bool,
}

impl Dumps {
    fn add(&mut self, content: Range<usize>, segment: bool) {
        if !segment || !self.is_open {
            self.segments.clear();
            self.count += 1;
        }
        self.segments.push(content);
        self.is_open = segment;
    }

    fn end(&mut self) {
        self.is_open = false;
    }
}

impl Tables {
    fn add(&mut self, record: &Record<'_>, offset: u64, id_size: IdSize) {
        match *record {
            Record::String { id, ref text } => {
                let start = (offset + RECORD_HEADER + id_size.bytes()) as usize;
                self.strings.insert(id.0, start..start + text.len());
            }
            Record::LoadClass {
                serial,
                class_object,
                name,
                ..
            } => {
                self.class_names.insert(class_object.0, name.0);
                self.class_serials.insert(serial.0, name.0);
            }
            Record::Frame {
                id,
                method,
                source_file,
                class,
                line,
                ..
            } => {
                let frame = RawFrame {
                    method: method.0,
                    source: source_file.0,
                    class: class.0,
                    line,
                };
                self.frames.insert(id.0, frame);
            }
            Record::Trace {
                serial, ref frames, ..
            } => {
                let start = self.trace_frames.len();
                self.trace_frames.extend(frames.iter().map(|frame| frame.0));
                self.traces.insert(serial.0, start..self.trace_frames.len());
            }
            _ => {}
        }
    }
}
