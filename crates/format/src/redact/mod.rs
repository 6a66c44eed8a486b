//! Removes the content of heap dumps, and keeps their structure.
//!
//! The same objects with the same sizes, references and allocation sites stay, under the same offsets of the file. What
//! arrays of numbers and characters hold becomes a pseudonym, and so do texts that are not names; the numbers in fields
//! become 0.

mod command_line;
mod compare;
mod instance;
mod names;
mod pseudonym;
mod segment;
mod selection;
mod thread_names;

use std::io::{self, Read, Seek, Write};

use crate::heap::{ClassDump, HeapRecord, Value};
use crate::id_size::IdSize;
use crate::reader::{Entry, HEADER_LENGTH, HeapEntry, HeapItem, Item, ReadError, Reader};
use crate::record::{BasicType, ObjectId, Record, StringId, StringRecord, TraceSerial};
use instance::{InstanceLayout, Layouts, is_kept};
use names::{NamesInUse, replace_in_note, replace_name};
use pseudonym::Pseudonym;
use selection::Chosen;
use thread_names::ThreadNames;

pub use command_line::{redacted_fact, without_secrets};
pub use compare::{RedactedContent, compare_redacted};
pub use instance::KEPT_FIELDS;
pub use pseudonym::RedactKey;
pub use segment::{SegmentError, SegmentRedactor};
pub use selection::RedactSelection;

/// The size of the output buffer from which it is written, in bytes.
const FULL: usize = 256 * 1024;

/// The reason a dump cannot be redacted.
#[derive(Debug, thiserror::Error)]
pub enum RedactError {
    /// The dump cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The references of an instance cannot be told from its numbers.
    #[error(
        "byte {offset}: an instance of a class (0x{class:x}) whose fields, or those of a class above, are not known \
         here; what are references, which stay, cannot be told from content",
        class = class.0
    )]
    UnknownFields {
        /// The offset of the instance.
        offset: u64,
        /// Its class.
        class: ObjectId,
    },
    /// The output failed.
    #[error(transparent)]
    Write(io::Error),
}

/// The numbers of objects of a dump that was redacted; classes count as objects.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RedactTotals {
    /// Objects whose content was removed.
    pub redacted: u64,
    /// Objects whose content stayed, because of the selection.
    pub kept: u64,
}

/// Copies a file, of which only the header has been read, without the content of its heap dumps.
///
/// The file is read three times, at first for its names and classes, then for the names of threads. Memory grows with the
/// number of names and classes, not with that of objects.
///
/// # Errors
/// [`RedactError`]. What was written before it has no content of the original.
pub fn redact<R: Read + Seek>(
    mut reader: Reader<R>,
    key: RedactKey,
    selection: RedactSelection,
    out: &mut impl Write,
) -> Result<RedactTotals, RedactError> {
    let mut redactor = Redactor::new(key, selection);
    redactor.learn(&mut reader)?;
    let mut buffer = Vec::with_capacity(2 * FULL);
    let header = reader.header();
    buffer.extend_from_slice(format!("JAVA PROFILE {}\0", header.version).as_bytes());
    buffer.extend_from_slice(&u32::to_be_bytes(match header.id_size {
        IdSize::Four => 4,
        IdSize::Eight => 8,
    }));
    buffer.extend_from_slice(&header.time.0.to_be_bytes());
    let read = redactor.copy(&mut reader, &mut buffer, out);
    out.write_all(&buffer).map_err(RedactError::Write)?;
    read.map(|()| redactor.totals)
}

/// Removes content, record by record.
struct Redactor {
    key: RedactKey,
    chosen: Chosen,
    names: NamesInUse,
    thread_names: ThreadNames,
    layouts: Option<Layouts>,
    unfinished: Unfinished,
    totals: RedactTotals,
}

/// The treatment of the pieces of an object that comes in several.
enum Unfinished {
    Kept,
    Array(Pseudonym),
    ThreadName,
    Instance(InstanceLayout, u64),
}

impl Redactor {
    fn new(key: RedactKey, selection: RedactSelection) -> Redactor {
        Redactor {
            key,
            chosen: Chosen::new(selection),
            names: NamesInUse::default(),
            thread_names: ThreadNames::default(),
            layouts: None,
            unfinished: Unfinished::Kept,
            totals: RedactTotals::default(),
        }
    }

    /// Learns the names and classes of a file, and goes back to its start. What is damaged is an error when it is read
    /// again; a source that has failed may not fail again.
    fn learn<R: Read + Seek>(&mut self, reader: &mut Reader<R>) -> Result<(), ReadError> {
        unless_damaged(self.learn_all(reader))?;
        if self.thread_names.has_strings() {
            unless_damaged(self.find_thread_names(reader))?;
        }
        reader.seek(HEADER_LENGTH as u64)
    }

    fn learn_all<R: Read>(&mut self, reader: &mut Reader<R>) -> Result<(), ReadError> {
        let id_size = reader.header().id_size;
        while let Some(entry) = reader.read()? {
            if let Item::Record(record) = entry.item {
                self.chosen.record(&record);
                self.names.record(&record, &self.chosen);
            }
            while let Some(entry) = reader.read_heap()? {
                if let HeapItem::Record(record) = entry.item {
                    self.learn_from(&record, id_size);
                }
            }
        }
        Ok(())
    }

    fn learn_from(&mut self, record: &HeapRecord<'_>, id_size: IdSize) {
        if let HeapRecord::Class(class) = record {
            self.class(class, id_size);
        }
        self.names.heap_record(record, &self.chosen);
        if let Some(layouts) = &mut self.layouts
            && !self.chosen.removes_names()
        {
            self.thread_names.find_string(record, layouts);
        }
    }

    /// Finds the arrays that hold the names of threads, and goes back to the start of the file.
    fn find_thread_names<R: Read + Seek>(
        &mut self,
        reader: &mut Reader<R>,
    ) -> Result<(), ReadError> {
        reader.seek(HEADER_LENGTH as u64)?;
        while reader.read()?.is_some() {
            while let Some(entry) = reader.read_heap()? {
                if let (HeapItem::Record(record), Some(layouts)) = (entry.item, &mut self.layouts) {
                    self.thread_names.find_array(&record, layouts);
                }
            }
        }
        Ok(())
    }

    fn copy<R: Read>(
        &mut self,
        reader: &mut Reader<R>,
        buffer: &mut Vec<u8>,
        out: &mut impl Write,
    ) -> Result<(), RedactError> {
        let id_size = reader.header().id_size;
        while let Some(entry) = reader.read()? {
            self.record(&entry, buffer);
            flush_full(buffer, out)?;
            while let Some(entry) = reader.read_heap()? {
                self.heap_record(&entry, id_size, buffer)?;
                flush_full(buffer, out)?;
            }
        }
        Ok(reader.check_end()?)
    }

    /// Appends a record that is not in a heap dump.
    fn record(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(entry.bytes);
        let Item::Record(record) = &entry.item else {
            return;
        };
        self.chosen.record(record);
        if let Record::String(StringRecord { id, text }) = record {
            let start = out.len() - text.len();
            self.replace_text(*id, &mut out[start..]);
        }
    }

    fn replace_text(&self, id: StringId, text: &mut [u8]) {
        if id.is_fact() {
            command_line::hide(text, self.chosen.removes_names());
        } else if id.is_name() && !self.names.has(id) {
            Pseudonym::new(BasicType::Byte).replace(text, &self.key);
        } else if id.is_note() && self.chosen.removes_names() {
            replace_in_note(text, &self.key);
        } else if self.chosen.removes_names() && self.names.is_of_program(id) {
            replace_name(text, &self.key);
        }
    }

    /// Appends a record of a heap dump, or a piece of one.
    fn heap_record(
        &mut self,
        entry: &HeapEntry<'_>,
        id_size: IdSize,
        out: &mut Vec<u8>,
    ) -> Result<(), RedactError> {
        let start = out.len();
        out.extend_from_slice(entry.bytes);
        let copied = &mut out[start..];
        match &entry.item {
            HeapItem::Record(HeapRecord::Class(class)) => {
                self.class(class, id_size);
                let removes = self.chosen.removes(class.class, class.trace);
                self.count(removes);
                if removes {
                    self.clear_statics(class, id_size, copied);
                }
            }
            HeapItem::Record(record) => {
                self.begin(record, content(record).len() as u64, entry.offset, id_size)?;
                let head = copied.len() - content(record).len();
                self.replace(content(record), &mut copied[head..]);
            }
            HeapItem::Head { record, length } => {
                self.begin(record, *length, entry.offset, id_size)?
            }
            HeapItem::Piece { bytes, .. } => self.replace(bytes, copied),
        }
        Ok(())
    }

    /// Decides what becomes of the content of an object.
    fn begin(
        &mut self,
        record: &HeapRecord<'_>,
        length: u64,
        offset: u64,
        id_size: IdSize,
    ) -> Result<(), RedactError> {
        self.unfinished = match *record {
            HeapRecord::Instance {
                class,
                trace,
                fields,
                ..
            } if self.removes(class, trace) => {
                let layouts = self.layouts.get_or_insert_with(|| Layouts::new(id_size));
                let is_whole = fields.len() as u64 == length;
                match layouts.find(class, length) {
                    Some(layout) => Unfinished::Instance(layout, 0),
                    // Nothing to remove: so the agent writes objects whose fields the VM does not reveal.
                    None if is_whole && fields.iter().all(|&byte| byte == 0) => Unfinished::Kept,
                    None => return Err(RedactError::UnknownFields { offset, class }),
                }
            }
            HeapRecord::PrimitiveArray { object, .. } if self.thread_names.has_array(object) => {
                self.count(false);
                Unfinished::ThreadName
            }
            HeapRecord::PrimitiveArray { element, trace, .. } => {
                let removes = self.chosen.removes_array(array_class(element), trace);
                self.count(removes);
                match removes {
                    true => Unfinished::Array(Pseudonym::new(element)),
                    false => Unfinished::Kept,
                }
            }
            _ => Unfinished::Kept,
        };
        Ok(())
    }

    fn removes(&mut self, class: ObjectId, trace: TraceSerial) -> bool {
        let removes = self.chosen.removes(class, trace);
        self.count(removes);
        removes
    }

    fn count(&mut self, removes: bool) {
        match removes {
            true => self.totals.redacted += 1,
            false => self.totals.kept += 1,
        }
    }

    /// Removes the next part of the content of the object that was begun; `copied` holds the same bytes as `original`.
    fn replace(&mut self, original: &[u8], copied: &mut [u8]) {
        match &mut self.unfinished {
            Unfinished::Kept | Unfinished::ThreadName => {}
            Unfinished::Array(pseudonym) => pseudonym.replace(copied, &self.key),
            Unfinished::Instance(layout, at) => {
                if let Some(layouts) = &self.layouts {
                    layouts.clear(*layout, *at, copied, original);
                }
                *at += original.len() as u64;
            }
        }
    }

    fn class(&mut self, class: &ClassDump<'_>, id_size: IdSize) {
        let name = self.chosen.class_name(class.class);
        let layouts = self.layouts.get_or_insert_with(|| Layouts::new(id_size));
        layouts.add(class, |field| is_kept(name, self.chosen.text(field)));
        let text = |field| self.chosen.text(field);
        self.thread_names.class(class, name, layouts, text);
    }

    /// Sets the numbers of a class to 0; `copied` is its whole record.
    fn clear_statics(&self, class: &ClassDump<'_>, id_size: IdSize, copied: &mut [u8]) {
        let id = id_size.width();
        let name = self.chosen.class_name(class.class);
        // Tag, class, trace, the six objects, instance size, number of constants.
        let mut at = 1 + id + 4 + 6 * id + 4 + 2;
        let mut clear = |before: usize, value: Value, stays: bool| {
            let start = at + before + 1;
            at = start + value.basic_type().size(id);
            if !stays
                && value.object().is_none()
                && let Some(bytes) = copied.get_mut(start..at)
            {
                bytes.fill(0);
            }
        };
        for &(_, value) in class.constants.iter() {
            clear(2, value, false);
        }
        // The number of statics comes before them.
        let mut between = 2;
        for &(field, value) in class.statics.iter() {
            clear(between + id, value, is_kept(name, self.chosen.text(field)));
            between = 0;
        }
    }
}

/// Returns the error of a source that has failed; that a file is damaged is none.
fn unless_damaged(read: Result<(), ReadError>) -> Result<(), ReadError> {
    match read {
        Err(error @ ReadError::Io { .. }) => Err(error),
        _ => Ok(()),
    }
}

/// Returns the name of the class of an array, as in Java source.
fn array_class(element: BasicType) -> &'static str {
    match element {
        BasicType::Object => "java.lang.Object[]",
        BasicType::Boolean => "boolean[]",
        BasicType::Char => "char[]",
        BasicType::Float => "float[]",
        BasicType::Double => "double[]",
        BasicType::Byte => "byte[]",
        BasicType::Short => "short[]",
        BasicType::Int => "int[]",
        BasicType::Long => "long[]",
    }
}

/// Returns the content of an object as far as it is removed: the references of arrays stay.
fn content<'a>(record: &HeapRecord<'a>) -> &'a [u8] {
    match *record {
        HeapRecord::Instance { fields, .. } => fields,
        HeapRecord::PrimitiveArray { elements, .. } => elements,
        _ => &[],
    }
}

fn flush_full(buffer: &mut Vec<u8>, out: &mut impl Write) -> Result<(), RedactError> {
    if buffer.len() >= FULL {
        out.write_all(buffer).map_err(RedactError::Write)?;
        buffer.clear();
    }
    Ok(())
}
