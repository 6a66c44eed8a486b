//! Exclusive access to the output: a record is written after the records of the names that it refers to.

use std::borrow::Cow;

use fixedbitset::FixedBitSet;
use hprof_format::{
    EndThreadRecord, FrameId as FormatFrameId, FrameRecord, Line as FormatLine, LoadClassRecord,
    MonitorRecord, ObjectId as FormatObjectId, Record, Section, StartThreadRecord,
    StringId as FormatStringId, StringRecord, TraceRecord, UnloadClassRecord,
};
use memory::{Map, OrStop};

use super::Records;
use super::announced::{AnnouncedThreads, Announcement, ThreadNames};
use super::serials;
use super::settings::ControlSettings;
use locks::{Mutex, rank};
use names::Tables;
use names::class::{ClassId, internal_name};
use names::frame::{FrameId, Line};
use names::object::ObjectId;
use names::string::StringId;
use names::thread::ThreadSerial;
use names::trace::TraceId;

/// The names that are in the file, and what else the next record depends on.
#[derive(Default)]
pub(super) struct Written {
    strings: FixedBitSet,
    classes: FixedBitSet,
    unloaded_classes: FixedBitSet,
    frames: FixedBitSet,
    traces: FixedBitSet,
    /// The ids that classes had in the last heap dump. A class that is missing here was written with its serial number
    /// as id.
    class_objects: Map<ClassId, FormatObjectId>,
    /// The number of thread names so far. They are not in the string table: each is written for its thread alone.
    thread_names: u64,
    /// `true` if the output says that a heap dump follows and none has ended since.
    dump_is_announced: bool,
    /// The number of whole heap dumps so far.
    dumps: u32,
    /// The number of notes so far: each has an id of its own.
    notes: u32,
}

/// Exclusive access to the output.
pub struct Entry<'a> {
    pub(super) settings: ControlSettings,
    /// The tables of the names that records refer to.
    pub tables: &'a Tables,
    /// The encoder and its buffer.
    pub records: &'a mut Records,
    pub(super) threads: &'a Mutex<AnnouncedThreads, rank::AnnouncedThreads>,
    /// Those of the output next to which this one is.
    pub(super) threads_of_profile: Option<&'a Mutex<AnnouncedThreads, rank::AnnouncedThreads>>,
    pub(super) written: &'a mut Written,
}

impl Entry<'_> {
    /// Writes the records that every output starts with.
    pub(super) fn head(&mut self) {
        self.settings(self.settings.heap_dump);
        self.trace(TraceId::EMPTY);
    }

    /// Announces in the output that a heap dump follows, unless it has already: if the dump is lost, because the
    /// disk is full or the program is killed, nothing can be written in its place.
    pub fn announce_dump(&mut self) {
        if !self.written.dump_is_announced {
            self.settings(true);
        }
    }

    /// Counts a heap dump, which has been written whole.
    pub fn dump_is_whole(&mut self) {
        self.written.dumps += 1;
    }

    /// Returns the number of whole heap dumps in the output so far.
    pub fn dumps(&self) -> u32 {
        self.written.dumps
    }

    /// Notes that the announced dump has ended, whole or not.
    pub fn dump_ended(&mut self) {
        self.written.dump_is_announced = false;
    }

    /// Withdraws the announcement of a heap dump that will not come, with the reason: the output then ends like one
    /// without a dump.
    pub fn withdraw_dump(&mut self) {
        if self.written.dump_is_announced {
            self.settings(false);
        }
    }

    fn settings(&mut self, dump_follows: bool) {
        self.records.write(&self.settings.record(dump_follows));
        self.written.dump_is_announced = dump_follows;
    }

    /// Writes a trace, preceded by its thread and its frames.
    pub fn trace(&mut self, id: TraceId) {
        if !is_new(&mut self.written.traces, id.index()) {
            return;
        }
        let tables = self.tables;
        let trace = tables.traces.get(id);
        if let Some(thread) = trace.thread {
            self.thread(thread);
        }
        let frames: Vec<FormatFrameId> = trace
            .frames
            .iter()
            .map(|&frame| self.frame(frame))
            .collect();
        self.records.write(&Record::Trace(TraceRecord {
            serial: serials::trace(id),
            thread: trace.thread.map(serials::thread).unwrap_or_default(),
            frames: Cow::Owned(frames),
        }));
    }

    /// Writes a frame, preceded by its names.
    pub fn frame(&mut self, id: FrameId) -> FormatFrameId {
        let number = serials::frame(id);
        if !is_new(&mut self.written.frames, id.index()) {
            return number;
        }
        let frame = *self.tables.frames.get(id);
        // Some readers look up the file of every frame, and would resolve id 0 to an unrelated string.
        let source_file = frame.method.source_file;
        let source_file = source_file.unwrap_or_else(|| self.tables.strings.intern(""));
        let record = Record::Frame(FrameRecord {
            id: number,
            method: self.string(frame.method.name),
            signature: self.string(frame.method.signature),
            source_file: self.string(source_file),
            class: self.class(frame.method.class),
            line: match frame.line {
                Line::Number(line) => FormatLine::Number(line),
                Line::Unknown => FormatLine::Unknown,
                Line::Native => FormatLine::Native,
            },
        });
        self.records.write(&record);
        number
    }

    /// Writes a record about monitors; in a format that has none, as a note.
    pub fn monitor(&mut self, record: &MonitorRecord<'_>) {
        if !self.records.write_monitor(record)
            && let Some(section) = Section::of_monitor(record)
        {
            self.section(&section);
        }
    }

    /// Writes a section that the binary format has as a note.
    pub fn section(&mut self, section: &Section<'_>) {
        if let Some(note) = section.note() {
            self.note(&note);
        }
    }

    /// Writes a comment for people, about the next record or the file.
    pub fn note(&mut self, text: &str) {
        let id = FormatStringId::note(self.written.notes);
        self.written.notes = self.written.notes.saturating_add(1);
        let text = Cow::Borrowed(text.as_bytes());
        self.records
            .write(&Record::String(StringRecord { id, text }));
    }

    /// Writes a class, preceded by its name.
    pub fn class(&mut self, id: ClassId) -> hprof_format::ClassSerial {
        let serial = serials::class(id);
        if !is_new(&mut self.written.classes, id.index()) {
            return serial;
        }
        let tables = self.tables;
        let class = tables.classes.get(id);
        let name = self.class_name(class.name);
        self.records.write(&Record::LoadClass(LoadClassRecord {
            serial,
            class_object: serials::object(class.object),
            trace: serials::trace(TraceId::EMPTY),
            name,
        }));
        if class.is_unloaded() {
            self.unloaded(id);
        }
        serial
    }

    /// Writes a class with the id of its `java.lang.Class` object in a heap dump, preceded by its name.
    pub fn class_at(&mut self, id: ClassId, object: FormatObjectId) {
        let is_new = is_new(&mut self.written.classes, id.index());
        let before = self.written.class_objects.insert(id, object).or_stop();
        // A class that was written outside a dump has its serial number as id.
        let number = (!is_new).then(|| serials::object(self.tables.classes.get(id).object));
        if before.or(number) == Some(object) {
            return;
        }
        let name = self.class_name(self.tables.classes.get(id).name);
        self.records.write(&Record::LoadClass(LoadClassRecord {
            serial: serials::class(id),
            class_object: object,
            trace: serials::trace(TraceId::EMPTY),
            name,
        }));
    }

    /// Writes a thread that has started, unless it has been written. Within a heap dump, which holds back START THREAD
    /// records, it is written before the first trace that names it.
    pub(super) fn thread(&mut self, serial: ThreadSerial) {
        let Some(thread) = self.pending(serial) else {
            return;
        };
        let object = thread.object.unwrap_or_else(|| self.tables.objects.add());
        self.start_thread(serial, object, &thread.names);
        match thread.has_ended {
            true => self.end_thread(serial),
            false => self.tables.threads.announced(serial, object),
        }
        self.threads.lock().wrote(serial, object);
    }

    /// Takes out the announcement of a thread that is not written yet.
    fn pending(&self, serial: ThreadSerial) -> Option<Announcement> {
        let announcement = self.threads.lock().take(serial);
        // A thread that started after this output began is known to the one next to which it is.
        let (None, Some(others)) = (&announcement, self.threads_of_profile) else {
            return announcement;
        };
        // The two locks have the same rank: never both at once.
        let known = others.lock().get(serial)?;
        let mut threads = self.threads.lock();
        threads.add(serial, known).then(|| threads.take(serial))?
    }

    /// Writes a thread, preceded by its names. Returns the id of its object.
    pub fn thread_started(&mut self, serial: ThreadSerial, names: &ThreadNames) -> ObjectId {
        let object = self.tables.objects.add();
        self.start_thread(serial, object, names);
        object
    }

    pub(super) fn start_thread(
        &mut self,
        serial: ThreadSerial,
        object: ObjectId,
        names: &ThreadNames,
    ) {
        let name = self.thread_name(&names.name);
        let group = self.interned(&names.group);
        let parent_group = self.interned(&names.parent_group);
        self.records.write(&Record::StartThread(StartThreadRecord {
            serial: serials::thread(serial),
            object: serials::object(object),
            trace: serials::trace(TraceId::EMPTY),
            name,
            group,
            parent_group,
        }));
    }

    pub(super) fn end_thread(&mut self, serial: ThreadSerial) {
        self.records.write(&Record::EndThread(EndThreadRecord {
            serial: serials::thread(serial),
        }));
    }

    /// Writes that a class has been unloaded, if the file names it.
    pub(super) fn unloaded(&mut self, id: ClassId) {
        let is_named = self.written.classes.contains(id.index() as usize);
        if is_named && is_new(&mut self.written.unloaded_classes, id.index()) {
            self.records.write(&Record::UnloadClass(UnloadClassRecord {
                serial: serials::class(id),
            }));
        }
    }

    /// Writes a name unless the file has it, and returns its id; an empty name has id 0.
    pub fn interned(&mut self, text: &str) -> FormatStringId {
        if text.is_empty() {
            return FormatStringId::default();
        }
        let id = self.tables.strings.intern(text);
        self.string(id)
    }

    /// Writes a class's name in the form of class files, and returns its id. Readers of binary files look for classes
    /// under such names; the text format has them as in Java source.
    fn class_name(&mut self, source: StringId) -> FormatStringId {
        let name = internal_name(self.tables.strings.get(source));
        self.interned(&name)
    }

    fn string(&mut self, id: StringId) -> FormatStringId {
        let number = serials::string(id);
        if is_new(&mut self.written.strings, id.index()) {
            let text = Cow::Borrowed(self.tables.strings.get(id).as_bytes());
            self.records
                .write(&Record::String(StringRecord { id: number, text }));
        }
        number
    }

    fn thread_name(&mut self, name: &str) -> FormatStringId {
        let id = FormatStringId(FormatStringId::USED_ONCE + self.written.thread_names);
        self.written.thread_names += 1;
        self.records.write(&Record::String(StringRecord {
            id,
            text: Cow::Borrowed(name.as_bytes()),
        }));
        id
    }
}

/// Adds the number to the set; returns `true` if it was not in it.
fn is_new(set: &mut FixedBitSet, index: u32) -> bool {
    let index = index as usize;
    set.grow(set.len().max(index + 1));
    !set.put(index)
}
