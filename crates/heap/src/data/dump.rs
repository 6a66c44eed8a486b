//! A heap dump of a file, with the names, frames and stacks outside of it.

use std::fs::File;
use std::io::Cursor;
use std::num::NonZero;
use std::ops::{DerefMut, Range};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use foldhash::HashMap;
use hprof_format::{
    AllocSite, Completeness, HeapError, HeapRecord, HeapRecords, IdSize, Item, Line, Millis,
    ObjectLayout, RawHeapRecord, Reader, Record, SITES_INCREMENTAL, StringId, Version, printable,
    shortened,
};

use crate::data::compressed::Compressed;
use crate::data::error::Error;
use crate::data::find_dump::{FoundDump, content};
use crate::data::mapping::Mapped;
use crate::data::names;
use crate::data::names::Stack;
use crate::data::tables::{RawFrame, Tables};

/// More threads are no faster.
const MOST_THREADS: usize = 64;
/// The most facts about a run that are returned.
const MOST_FACTS: u8 = 64;
/// The bytes after a dump in which the allocation sites that were reported with it are looked for.
const MOST_AFTER: usize = 64 << 20;
/// The most frames of a stack that are shown.
pub(crate) const FRAMES: usize = 1000;

/// A heap dump in a mapped file.
#[derive(Debug)]
pub struct Dump {
    bytes: Mapped,
    /// The gzip file that the content comes from.
    compressed: Option<Compressed>,
    id_size: IdSize,
    version: Version,
    /// The time stamp of the file.
    time: Millis,
    /// The ranges of its content in the file.
    segments: Vec<Range<usize>>,
    completeness: Completeness,
    /// Its number among the file's dumps, from 1, and the number of dumps found so far.
    number_and_count: (usize, usize),
    /// The time of the last record that was read, in microseconds since the beginning.
    reached: u64,
    tables: Tables,
    /// The layout that the agent noted before it.
    layout: Option<ObjectLayout>,
    /// The most threads that read it at the same time.
    threads: NonZero<usize>,
    texts: Mutex<Texts>,
    /// The indexes from which answers are taken.
    indexes: Mutex<Vec<Arc<Mapped>>>,
}

/// The names and stacks resolved so far: thousands of classes may have the same name, and thousands of sites the same
/// stack.
#[derive(Debug, Default)]
struct Texts {
    /// By the id of the string.
    names: HashMap<u64, Arc<str>>,
    /// The same, as names of classes.
    classes: HashMap<u64, Arc<str>>,
    frames: HashMap<u64, Arc<str>>,
    stacks: HashMap<u32, Stack>,
}

/// A record of the dump and its offset in the file.
pub(crate) struct Found<'a> {
    pub(crate) offset: u64,
    pub(crate) record: RawHeapRecord<'a>,
}

impl<'a> Found<'a> {
    pub(crate) fn decode(&self) -> Result<HeapRecord<'a>, Error> {
        self.record
            .decode()
            .map_err(|error| record_error(self.offset, error))
    }
}

impl Dump {
    /// Finds the last dump of an uncompressed file, or the one with number `wanted`, counted from 1.
    ///
    /// # Errors
    /// [`Error`], if the file cannot be read as HPROF to the dump's end or has no such dump.
    pub fn open(file: &File, wanted: Option<usize>) -> Result<Dump, Error> {
        Dump::of(file, wanted, None)
    }

    /// Finds the last dump, or the one with a number, in the content of a gzip file, or in as much of it as there is.
    pub(crate) fn of(
        content: &File,
        wanted: Option<usize>,
        compressed: Option<Compressed>,
    ) -> Result<Dump, Error> {
        let bytes = Mapped::of(content)?;
        if compressed.as_ref().is_some_and(Compressed::has_gaps) {
            bytes.expect_single_pages();
        }
        let has_gaps = compressed.as_ref().is_some_and(Compressed::has_gaps);
        let found = FoundDump::find(&bytes, wanted, has_gaps);
        if !bytes.is_whole() {
            return Err(Error::Changed);
        }
        let found = found?;
        let FoundDump { header, count, .. } = found;
        Ok(Dump {
            bytes,
            compressed,
            id_size: header.id_size,
            version: header.version,
            time: header.time,
            segments: found.segments,
            completeness: found.completeness,
            number_and_count: (wanted.unwrap_or(count), count),
            reached: found.reached,
            tables: found.tables,
            layout: found.layout,
            threads: thread::available_parallelism().unwrap_or(NonZero::<usize>::MIN),
            texts: Mutex::default(),
            indexes: Mutex::default(),
        })
    }

    /// Returns the answer to a question, if the file is still unchanged since it was opened.
    pub(crate) fn unless_changed<T, E: From<Error>>(
        &self,
        answer: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        let answer = answer();
        let indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        let is_whole = self.bytes.is_whole() && self.file().is_whole();
        match is_whole && indexes.iter().all(|index| index.is_whole()) {
            true => answer,
            // The answer was computed from a different file.
            false => Err(Error::Changed.into()),
        }
    }

    /// Returns an error if the file has been changed since it was opened: then what is known about it is of no use.
    ///
    /// # Errors
    /// [`Error::Changed`].
    pub fn check_unchanged(&self) -> Result<(), Error> {
        self.unless_changed(|| Ok(()))
    }

    /// Watches an index as well, from which answers are taken.
    pub(crate) fn watch(&self, index: &Arc<Mapped>) {
        let mut indexes = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        indexes.push(Arc::clone(index));
    }

    /// Returns its file, which may be compressed.
    pub(crate) fn file(&self) -> &Mapped {
        self.compressed
            .as_ref()
            .map_or(&self.bytes, Compressed::file)
    }

    pub(crate) fn compressed(&self) -> Option<&Compressed> {
        self.compressed.as_ref()
    }

    /// Returns the content of its file. That of a compressed one must have been provided.
    pub(crate) fn content(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the parts of the content that are outside of dumps, as far as they can be read.
    pub(crate) fn outside(&self) -> Result<Vec<Range<usize>>, Error> {
        let mut reader = Reader::new(Cursor::new(&self.bytes[..]))?;
        let (mut parts, mut start) = (Vec::new(), 0);
        while let Ok(Some(entry)) = reader.read() {
            if let Item::HeapDump { length, .. } = entry.item {
                let content = content(entry.offset, length);
                parts.push(start..content.start);
                start = content.end;
                reader.seek(content.end as u64)?;
            }
        }
        // The offset of what cannot be read, or the end.
        parts.push(start..(reader.position() as usize).max(start));
        Ok(parts)
    }

    /// Returns the allocation sites that were reported with it, those before the next dump, as far as they can be read.
    pub(crate) fn sites_reported_with(&self) -> Vec<AllocSite> {
        self.read_sites().unwrap_or_default().unwrap_or_default()
    }

    fn read_sites(&self) -> Result<Option<Vec<AllocSite>>, Error> {
        let end = self.segments.last().map_or(0, |segment| segment.end);
        let there = self.provide(end, end.saturating_add(MOST_AFTER))?;
        let mut reader = Reader::new(Cursor::new(&self.bytes[..there]))?;
        reader.seek(end as u64)?;
        while let Some(entry) = reader.read()? {
            match entry.item {
                Item::HeapDump { .. } => break,
                Item::Record(Record::AllocSites(sites)) if sites.flags & SITES_INCREMENTAL == 0 => {
                    return Ok(Some(sites.sites.into_owned()));
                }
                Item::Record(_) | Item::HeapDumpEnd => {}
            }
        }
        Ok(None)
    }

    /// Sets the most threads that answer a question about it; as many as the machine has processors, if this is not called.
    /// Answers do not depend on it.
    pub fn use_threads(&mut self, threads: NonZero<usize>) {
        self.threads = threads;
    }

    pub(crate) fn threads(&self) -> usize {
        self.threads.get().min(MOST_THREADS)
    }

    /// Returns the ranges of its content in the file.
    pub(crate) fn segments(&self) -> &[Range<usize>] {
        &self.segments
    }

    pub(crate) fn noted_layout(&self) -> Option<ObjectLayout> {
        self.layout
    }

    pub(crate) fn id_size(&self) -> IdSize {
        self.id_size
    }

    pub(crate) fn is_android(&self) -> bool {
        self.version == Version::V1_0_3
    }

    /// Returns how much of it the file has.
    #[must_use]
    pub fn completeness(&self) -> Completeness {
        self.completeness
    }

    /// Returns the time stamp of its file.
    #[must_use]
    pub fn file_time(&self) -> Millis {
        self.time
    }

    /// Returns its number among the file's dumps, from 1, and the number of dumps up to there.
    #[must_use]
    pub fn number_and_count(&self) -> (usize, usize) {
        self.number_and_count
    }

    /// Returns the facts about the run in the file's head, with their labels: `Program`, `JDK`.
    #[must_use]
    pub fn facts(&self) -> Vec<(String, String)> {
        let texts = (0..MOST_FACTS).map_while(|number| self.string(StringId::fact(number).0));
        let facts = texts.filter_map(|text| {
            let text = String::from_utf8_lossy(text);
            let (label, value) = text.split_once(": ")?;
            Some((printable(label).into_owned(), printable(value).into_owned()))
        });
        facts.collect()
    }

    /// Returns the time from the beginning of the run to the dump's last record, in microseconds.
    #[must_use]
    pub fn reached(&self) -> u64 {
        self.reached
    }

    /// Returns the size of its content, in bytes.
    #[must_use]
    pub fn length(&self) -> u64 {
        self.segments
            .iter()
            .map(|segment| segment.len() as u64)
            .sum()
    }

    /// Iterates over its records, in the file's order. After an error there is no further record.
    pub(crate) fn records(&self) -> impl Iterator<Item = Result<Found<'_>, Error>> {
        let all = self.segments.iter().cloned();
        all.flat_map(|segment| self.records_in(segment))
    }

    /// Iterates over the records of a part.
    pub(crate) fn records_of(
        &self,
        part: &[Range<usize>],
    ) -> impl Iterator<Item = Result<Found<'_>, Error>> {
        let part = part.iter().cloned();
        part.flat_map(|segment| self.records_in(segment))
    }

    /// Iterates over the records from the one that starts at `start`.
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
        let mut records = HeapRecords::new(&[], self.id_size);
        // The content has been provided up to there.
        let (mut base, mut there) = (segment.start, segment.start);
        let mut failed = false;
        std::iter::from_fn(move || {
            while !failed {
                let offset = base + records.offset();
                let error = match records.next() {
                    Some(Ok(record)) => {
                        let offset = offset as u64;
                        return Some(Ok(Found { offset, record }));
                    }
                    None | Some(Err(HeapError::Incomplete { .. })) if there < segment.end => {
                        // Twice as much, so that a long record is not tried often.
                        match self.provide(offset, 2 * there - offset + 1) {
                            Ok(end) => {
                                there = end.min(segment.end);
                                base = offset;
                                records = HeapRecords::new(&self.bytes[base..there], self.id_size);
                                continue;
                            }
                            Err(error) => error,
                        }
                    }
                    None => return None,
                    Some(Err(error)) => record_error(offset as u64, error),
                };
                failed = true;
                return Some(Err(error));
            }
            None
        })
    }

    /// Makes the content available from `start` on, up to `wanted` if it has so much; returns how far it is.
    fn provide(&self, start: usize, wanted: usize) -> Result<usize, Error> {
        match &self.compressed {
            Some(compressed) => compressed.provide(start, wanted),
            None => Ok(self.bytes.len()),
        }
    }

    /// Returns the bytes of a string; `None` if the file lacks it.
    pub(crate) fn string(&self, id: u64) -> Option<&[u8]> {
        let range = self.tables.strings.get(&id)?;
        self.bytes.get(range.clone())
    }

    /// Returns a string in printable form, truncated if it is very long; empty if the file lacks it.
    pub(crate) fn text(&self, id: u64) -> String {
        self.string(id).map_or_else(String::new, names::name)
    }

    /// Returns the same, shared by all callers.
    pub(crate) fn name(&self, id: u64) -> Arc<str> {
        self.texts().name(id, self)
    }

    /// Returns the name of a class, by its object, as in Java source.
    pub(crate) fn class_name(&self, object: u64) -> Option<Arc<str>> {
        let name = *self.tables.class_names.get(&object)?;
        self.texts().class_name(name, self)
    }

    /// Returns the same, by the serial number of the class.
    pub(crate) fn class_name_by_serial(&self, serial: u32) -> Option<Arc<str>> {
        let name = *self.tables.class_serials.get(&serial)?;
        self.texts().class_name(name, self)
    }

    /// Returns the stack of a trace, innermost frame first; empty if the file lacks it.
    pub(crate) fn stack(&self, trace: u32) -> Stack {
        let Some(frames) = self.tables.traces.get(&trace) else {
            return Stack::default();
        };
        let mut texts = self.texts();
        if let Some(stack) = texts.stacks.get(&trace) {
            return Arc::clone(stack);
        }
        let frames = &self.tables.trace_frames[frames.clone()];
        let shown = frames.iter().take(FRAMES);
        let mut stack: Vec<Arc<str>> = shown.map(|&frame| texts.frame(frame, self)).collect();
        if let left_out @ 1.. = frames.len() - stack.len() {
            stack.push(format!("<{left_out} more frames>").into());
        }
        let stack = Stack::from(stack);
        texts.stacks.insert(trace, Arc::clone(&stack));
        stack
    }

    /// Returns the stacks of all traces that have frames, in the order of their numbers.
    pub(crate) fn all_stacks(&self) -> Vec<Stack> {
        let traces = self.tables.traces.iter();
        let traces = traces.filter(|(_, frames)| !frames.is_empty());
        let mut traces: Vec<u32> = traces.map(|(&trace, _)| trace).collect();
        traces.sort_unstable();
        traces.into_iter().map(|trace| self.stack(trace)).collect()
    }

    fn texts(&self) -> impl DerefMut<Target = Texts> {
        // Each entry is complete before it is inserted: a panic leaves none half made.
        self.texts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn has_stack(&self, trace: u32) -> bool {
        let trace = self.tables.traces.get(&trace);
        trace.is_some_and(|frames| !frames.is_empty())
    }
}

impl Texts {
    fn name(&mut self, string: u64, dump: &Dump) -> Arc<str> {
        let made = || dump.text(string).into();
        Arc::clone(self.names.entry(string).or_insert_with(made))
    }

    fn class_name(&mut self, string: u64, dump: &Dump) -> Option<Arc<str>> {
        if let Some(name) = self.classes.get(&string) {
            return Some(Arc::clone(name));
        }
        let name: Arc<str> = dump.string(string).map(names::class_name)?.into();
        self.classes.insert(string, Arc::clone(&name));
        Some(name)
    }

    /// Formats a frame as `Class.method(File.java:12)`.
    fn frame(&mut self, id: u64, dump: &Dump) -> Arc<str> {
        if let Some(text) = self.frames.get(&id) {
            return Arc::clone(text);
        }
        let text = match dump.tables.frames.get(&id) {
            Some(frame) => shortened(&self.describe(frame, dump)).into_owned(),
            None => format!("<unknown frame {id}>"),
        };
        let text: Arc<str> = text.into();
        self.frames.insert(id, Arc::clone(&text));
        text
    }

    fn describe(&mut self, frame: &RawFrame, dump: &Dump) -> String {
        let class = dump.tables.class_serials.get(&frame.class);
        let class = class.and_then(|&name| self.class_name(name, dump));
        let class = class.unwrap_or_else(|| "<unknown class>".into());
        let (method, source) = (self.name(frame.method, dump), self.name(frame.source, dump));
        let source = if source.is_empty() {
            "Unknown Source"
        } else {
            &*source
        };
        let line = match frame.line {
            Line::Number(line) => format!("{source}:{line}"),
            Line::Unknown => source.to_string(),
            Line::Compiled => format!("{source}:Compiled method"),
            Line::Native => format!("{source}:Native method"),
        };
        format!("{class}.{method}({line})")
    }
}

fn record_error(offset: u64, mut error: HeapError) -> Error {
    match &mut error {
        HeapError::Incomplete { offset, .. }
        | HeapError::UnknownTag { offset, .. }
        | HeapError::Value { offset, .. } => *offset = 0,
    }
    Error::Record { offset, error }
}
