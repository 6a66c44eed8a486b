//! The records that go out as things happen, and what has gone out already.

use std::borrow::Cow;
use std::sync::Arc;

use fixedbitset::FixedBitSet;
use hprof_format::{
    CONTROL_ALLOC_TRACES, CONTROL_CPU_SAMPLING, FrameId as FormatFrameId, Line as FormatLine,
    Record, StringId as FormatStringId,
};
use parking_lot::Mutex;

use super::numbers;
use crate::tables::Tables;
use crate::tables::class::ClassId;
use crate::tables::frame::{FrameId, Line};
use crate::tables::string::StringId;
use crate::tables::thread::ThreadSerial;
use crate::tables::trace::TraceId;
use crate::writer::{Records, Writer};

/// Writes records and remembers which of the tables' entries are in the file.
///
/// Lock order: `written`, then the writer's records, then the tables' locks.
pub struct Journal {
    tables: Arc<Tables>,
    writer: Writer,
    written: Mutex<Written>,
}

/// What CONTROL SETTINGS says of the run.
#[derive(Clone, Copy)]
pub struct Settings {
    /// Whether allocations are tracked.
    pub allocations: bool,
    /// Whether CPU samples are taken.
    pub cpu_samples: bool,
    /// `depth=`.
    pub depth: u16,
}

/// What START THREAD says of a thread.
pub struct ThreadNames<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its group's name.
    pub group: &'a str,
    /// The name of the group above that one.
    pub parent_group: &'a str,
}

#[derive(Default)]
struct Written {
    strings: FixedBitSet,
    classes: FixedBitSet,
    unloaded_classes: FixedBitSet,
    frames: FixedBitSet,
    traces: FixedBitSet,
    /// Names of threads are not in the string table: each is written for its thread alone.
    thread_names: u64,
}

impl Journal {
    /// Opens the output with what every file starts with: the settings, and the trace that other records name before
    /// any real trace is known.
    pub fn start(tables: Arc<Tables>, writer: Writer, settings: Settings) -> Self {
        let journal = Self {
            tables,
            writer,
            written: Mutex::default(),
        };
        journal.entry(|entry| {
            let allocations = u32::from(settings.allocations) * CONTROL_ALLOC_TRACES;
            let samples = u32::from(settings.cpu_samples) * CONTROL_CPU_SAMPLING;
            entry.records.write(&Record::ControlSettings {
                flags: allocations | samples,
                depth: settings.depth,
            });
            entry.trace(TraceId::EMPTY);
        });
        journal
    }

    /// A thread has started.
    pub fn thread_started(&self, serial: ThreadSerial, names: &ThreadNames<'_>) {
        self.entry(|entry| {
            let name = entry.thread_name(names.name);
            let group = entry.interned(names.group);
            let parent_group = entry.interned(names.parent_group);
            entry.records.write(&Record::StartThread {
                serial: numbers::thread(serial),
                object: numbers::object(entry.tables.objects.add()),
                trace: numbers::trace(TraceId::EMPTY),
                name,
                group,
                parent_group,
            });
        });
    }

    /// A thread has ended.
    pub fn thread_ended(&self, serial: ThreadSerial) {
        self.entry(|entry| {
            entry.records.write(&Record::EndThread {
                serial: numbers::thread(serial),
            })
        });
    }

    /// A class has been unloaded.
    pub fn class_unloaded(&self, class: ClassId) {
        self.entry(|entry| {
            if entry.written.classes.contains(class.index() as usize) {
                entry.unloaded(class);
            }
        });
    }

    /// Writes records that stand together.
    pub(super) fn entry<T>(&self, write: impl FnOnce(&mut Entry<'_>) -> T) -> T {
        let mut written = self.written.lock();
        let mut records = self.writer.records();
        write(&mut Entry {
            tables: &self.tables,
            written: &mut written,
            records: &mut records,
        })
    }

    /// Sends what is in the buffer on its way to the file.
    pub fn flush(&self) {
        self.writer.records().flush();
    }

    /// Writes everything out and closes the file; `false` if some of it could not be written.
    pub fn close(&self) -> bool {
        self.writer.close();
        self.writer.is_sound()
    }
}

/// The output while one caller has it to itself.
pub(super) struct Entry<'a> {
    pub(super) tables: &'a Tables,
    pub(super) records: &'a mut Records,
    written: &'a mut Written,
}

impl Entry<'_> {
    /// A trace, preceded by its frames.
    pub(super) fn trace(&mut self, id: TraceId) {
        if !is_new(&mut self.written.traces, id.index()) {
            return;
        }
        let tables = self.tables;
        let trace = tables.traces.get(id);
        let frames: Vec<FormatFrameId> = trace
            .frames
            .iter()
            .map(|&frame| self.frame(frame))
            .collect();
        self.records.write(&Record::Trace {
            serial: numbers::trace(id),
            thread: trace.thread.map(numbers::thread).unwrap_or_default(),
            frames: Cow::Owned(frames),
        });
    }

    /// A frame, preceded by its names.
    pub(super) fn frame(&mut self, id: FrameId) -> FormatFrameId {
        let number = numbers::frame(id);
        if !is_new(&mut self.written.frames, id.index()) {
            return number;
        }
        let frame = *self.tables.frames.get(id);
        let record = Record::Frame {
            id: number,
            method: self.string(frame.method.name),
            signature: self.string(frame.method.signature),
            source_file: frame
                .method
                .source_file
                .map(|file| self.string(file))
                .unwrap_or_default(),
            class: self.class(frame.method.class),
            line: match frame.line {
                Line::Number(line) => FormatLine::Number(line),
                Line::Unknown => FormatLine::Unknown,
                Line::Native => FormatLine::Native,
            },
        };
        self.records.write(&record);
        number
    }

    /// A line for people about the record behind it.
    pub(super) fn note(&mut self, text: &str) {
        let text = Cow::Borrowed(text.as_bytes());
        self.records.write(&Record::String {
            id: FormatStringId::NOTE,
            text,
        });
    }

    /// A class, preceded by its name.
    pub(super) fn class(&mut self, id: ClassId) -> hprof_format::ClassSerial {
        let serial = numbers::class(id);
        if !is_new(&mut self.written.classes, id.index()) {
            return serial;
        }
        let tables = self.tables;
        let class = tables.classes.get(id);
        let name = self.string(class.name);
        self.records.write(&Record::LoadClass {
            serial,
            class_object: numbers::object(class.object),
            trace: numbers::trace(TraceId::EMPTY),
            name,
        });
        if class.is_unloaded() {
            self.unloaded(id);
        }
        serial
    }

    fn unloaded(&mut self, id: ClassId) {
        if is_new(&mut self.written.unloaded_classes, id.index()) {
            self.records.write(&Record::UnloadClass {
                serial: numbers::class(id),
            });
        }
    }

    fn interned(&mut self, text: &str) -> FormatStringId {
        if text.is_empty() {
            return FormatStringId::default();
        }
        let id = self.tables.strings.intern(text);
        self.string(id)
    }

    fn string(&mut self, id: StringId) -> FormatStringId {
        let number = numbers::string(id);
        if is_new(&mut self.written.strings, id.index()) {
            let text = Cow::Borrowed(self.tables.strings.get(id).as_bytes());
            self.records.write(&Record::String { id: number, text });
        }
        number
    }

    fn thread_name(&mut self, name: &str) -> FormatStringId {
        let id = FormatStringId(FormatStringId::USED_ONCE + self.written.thread_names);
        self.written.thread_names += 1;
        self.records.write(&Record::String {
            id,
            text: Cow::Borrowed(name.as_bytes()),
        });
        id
    }
}

/// Whether the number was not in the set; it is from now on.
fn is_new(set: &mut FixedBitSet, index: u32) -> bool {
    let index = index as usize;
    set.grow(set.len().max(index + 1));
    !set.put(index)
}
