//! Records that are written as things happen, and a note of which names the file already has.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use fixedbitset::FixedBitSet;
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use hprof_format::{
    FrameId as FormatFrameId, Line as FormatLine, ObjectId as FormatObjectId, Record,
    StringId as FormatStringId,
};

use super::announced::{AnnouncedThreads, ThreadNames};
use super::serials;
use super::settings::ControlSettings;
use super::{Records, Writer};
use crate::lock_order::{self, Condvar, Guard, Mutex, RwLock, rank};
use crate::memory;
use crate::names::Tables;
use crate::names::class::{ClassId, internal_name};
use crate::names::frame::{FrameId, Line};
use crate::names::object::ObjectId;
use crate::names::string::StringId;
use crate::names::thread::ThreadSerial;
use crate::names::trace::TraceId;

/// Writes records and remembers which of the tables' entries are in the file.
///
/// While a heap dump is written, its records stay together: other records are held back, so that threads which start
/// and end do not wait for the dump. They wait only when [`HELD`] records have piled up.
///
/// [`Journal::turn`] continues in another output, where the names that later records refer to are written again.
pub struct Journal {
    tables: Arc<Tables>,
    settings: ControlSettings,
    writer: RwLock<Arc<Writer>, rank::CurrentWriter>,
    /// `Some` while a heap dump is being written.
    held: Mutex<Option<Vec<DeferredRecord>>, rank::HeldRecords>,
    released: Condvar,
    /// The number of heap dump segments that have been written.
    segments: AtomicU64,
    threads: Mutex<AnnouncedThreads, rank::AnnouncedThreads>,
    written: Mutex<Written, rank::WrittenNames>,
}

/// Writes a record that was held back.
type DeferredRecord = Box<dyn FnOnce(&mut Entry<'_>) + Send>;

/// The most events that a heap dump holds back; about 200 bytes each.
const HELD: usize = 64 * 1024;

#[derive(Default)]
struct Written {
    strings: FixedBitSet,
    classes: FixedBitSet,
    unloaded_classes: FixedBitSet,
    frames: FixedBitSet,
    traces: FixedBitSet,
    /// The ids that classes had in the last heap dump. A class that is missing here was written with its serial number
    /// as id.
    class_objects: HashMap<ClassId, FormatObjectId, FixedState>,
    /// The number of thread names so far. They are not in the string table: each is written for its thread alone.
    thread_names: u64,
    /// `true` if the output says that a heap dump follows and none has ended since.
    dump_is_announced: bool,
    /// The number of notes so far: each has an id of its own.
    notes: u32,
}

impl Journal {
    /// Opens the output with the records that every file starts with: the settings, and the empty trace that other
    /// records name before any real trace is known.
    pub fn start(tables: Arc<Tables>, writer: Writer, settings: ControlSettings) -> Self {
        let journal = Self {
            tables,
            settings,
            writer: RwLock::new(Arc::new(writer)),
            held: Mutex::new(None),
            released: Condvar::new(),
            segments: AtomicU64::new(0),
            threads: Mutex::new(AnnouncedThreads::new(settings.kept_threads)),
            written: Mutex::default(),
        };
        journal.entry(|entry| entry.head());
        journal
    }

    /// Continues in another output. The previous one gets `note` as its last line and is returned, for the caller to
    /// close. Every record is in exactly one of the two. Must not be called within a heap dump.
    pub fn start_period(&self, writer: Writer, note: &str) -> Arc<Writer> {
        let mut written = self.written.lock();
        self.entry_of(&mut written, |entry| entry.note(note));
        *written = Written::default();
        let alive = self.threads.lock().begin_anew();
        let before = std::mem::replace(&mut *self.writer.write(), Arc::new(writer));
        self.entry_of(&mut written, |entry| {
            entry.head();
            alive.into_iter().for_each(|serial| entry.thread(serial));
        });
        before
    }

    /// Records that a thread has started.
    pub fn thread_started(&self, serial: ThreadSerial, names: ThreadNames) {
        self.threads.lock().started(serial, names);
        self.happened(move |entry| entry.thread(serial));
    }

    /// Records that a thread has ended.
    pub fn thread_ended(&self, serial: ThreadSerial) {
        self.happened(move |entry| {
            entry.tables.threads.ended(serial);
            entry.threads.lock().ended(serial);
            entry.end_thread(serial);
        });
    }

    /// Records that a class has been unloaded.
    pub fn class_unloaded(&self, class: ClassId) {
        self.happened(move |entry| {
            if entry.written.classes.contains(class.index() as usize) {
                entry.unloaded(class);
            }
        });
    }

    /// Writes records about an event; during a heap dump, after the dump, so that the order of events is kept.
    ///
    /// May wait for the end of the heap dump while the caller holds Java monitors and `ThreadRegistry::registering`. So the
    /// thread that dumps must not register a thread, must not run Java code (a contended monitor there would be an event,
    /// which registers the thread), and must not call this function.
    pub fn happened(&self, write: impl FnOnce(&mut Entry<'_>) + Send + 'static) {
        lock_order::check::<rank::HeapDump>();
        let mut held = self.held.lock();
        self.released.wait_while(&mut held, |held| {
            held.as_ref().is_some_and(|events| events.len() >= HELD)
        });
        match &mut *held {
            Some(events) => {
                let entry = size_of::<DeferredRecord>();
                memory::need_to_grow(events.len(), events.capacity(), entry);
                events.push(Box::new(write));
            }
            None => self.entry(write),
        }
    }

    /// Counts a segment of a heap dump.
    pub fn count_segment(&self) {
        self.segments.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of heap dump segments written so far, which tells whether a dump makes progress.
    pub fn segments(&self) -> u64 {
        self.segments.load(Ordering::Relaxed)
    }

    /// Waits until everything so far is written; returns `false` if not everything could be.
    pub fn drain(&self) -> bool {
        let writer = self.writer();
        writer.drain();
        writer.is_sound()
    }

    /// Holds back events' records until the returned guard is dropped.
    pub fn hold_events(&self) -> Holding<'_> {
        lock_order::check::<rank::HeapDump>();
        *self.held.lock() = Some(Vec::new());
        Holding {
            journal: self,
            _dumping: Guard::new(()),
        }
    }

    /// Runs `write` with exclusive access to the output, so its records are not mixed with others.
    pub fn entry<T>(&self, write: impl FnOnce(&mut Entry<'_>) -> T) -> T {
        self.entry_of(&mut self.written.lock(), write)
    }

    fn entry_of<T>(&self, written: &mut Written, write: impl FnOnce(&mut Entry<'_>) -> T) -> T {
        let writer = self.writer();
        let mut records = writer.records();
        write(&mut Entry {
            settings: self.settings,
            tables: &self.tables,
            threads: &self.threads,
            written,
            records: &mut records,
        })
    }

    fn writer(&self) -> Arc<Writer> {
        self.writer.read().clone()
    }

    /// Writes the last line of the file. After a heap dump that was never finished it writes nothing.
    pub fn ended(&self, note: &str) {
        if self.held.lock().is_none() {
            self.entry(|entry| entry.note(note));
        }
    }

    /// Prepares for the end of the program: a slow reader of the profile is now waited for less long.
    pub fn hurry(&self) {
        self.writer().hurry();
    }

    /// Sends the buffered records on their way to the file.
    pub fn flush(&self) {
        self.writer().records().flush();
    }

    /// Returns `true` if everything so far could be written.
    pub fn is_sound(&self) -> bool {
        self.writer().is_sound()
    }

    /// Returns the number of bytes in the output, before compression.
    pub fn bytes(&self) -> u64 {
        self.writer().bytes()
    }

    /// Writes everything out and closes the file; returns `false` if something could not be written.
    pub fn close(&self) -> bool {
        let writer = self.writer();
        writer.close();
        writer.is_sound()
    }
}

/// Writes the records that were held back, when dropped.
pub struct Holding<'a> {
    journal: &'a Journal,
    /// Others wait for the heap dump as for a lock.
    _dumping: Guard<(), rank::HeapDump>,
}

impl Drop for Holding<'_> {
    fn drop(&mut self) {
        let journal = self.journal;
        let mut held = journal.held.lock();
        let events = held.take().unwrap_or_default();
        journal.entry(|entry| events.into_iter().for_each(|write| write(entry)));
        journal.released.notify_all();
    }
}

/// Exclusive access to the output.
pub struct Entry<'a> {
    settings: ControlSettings,
    /// The tables of the names that records refer to.
    pub tables: &'a Tables,
    /// The encoder and its buffer.
    pub records: &'a mut Records,
    threads: &'a Mutex<AnnouncedThreads, rank::AnnouncedThreads>,
    written: &'a mut Written,
}

impl Entry<'_> {
    /// Writes the records that every output starts with.
    fn head(&mut self) {
        self.settings(self.settings.heap_dump);
        self.trace(TraceId::EMPTY);
    }

    /// Announces in the output that a heap dump follows, unless it says so already: if the dump is lost, because the
    /// disk is full or the program is killed, nothing can be written in its place.
    pub fn announce_dump(&mut self) {
        if !self.written.dump_is_announced {
            self.settings(true);
        }
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
        self.records.write(&Record::Trace {
            serial: serials::trace(id),
            thread: trace.thread.map(serials::thread).unwrap_or_default(),
            frames: Cow::Owned(frames),
        });
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
        let record = Record::Frame {
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
        };
        self.records.write(&record);
        number
    }

    /// Writes a comment for people, about the next record or the file.
    pub fn note(&mut self, text: &str) {
        let id = FormatStringId::note(self.written.notes);
        self.written.notes = self.written.notes.saturating_add(1);
        let text = Cow::Borrowed(text.as_bytes());
        self.records.write(&Record::String { id, text });
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
        self.records.write(&Record::LoadClass {
            serial,
            class_object: serials::object(class.object),
            trace: serials::trace(TraceId::EMPTY),
            name,
        });
        if class.is_unloaded() {
            self.unloaded(id);
        }
        serial
    }

    /// Writes a class with the id of its `java.lang.Class` object in a heap dump, preceded by its name.
    pub fn class_at(&mut self, id: ClassId, object: FormatObjectId) {
        let is_new = is_new(&mut self.written.classes, id.index());
        let before = self.written.class_objects.insert(id, object);
        // A class that was written outside a dump has its serial number as id.
        let number = (!is_new).then(|| serials::object(self.tables.classes.get(id).object));
        if before.or(number) == Some(object) {
            return;
        }
        let name = self.class_name(self.tables.classes.get(id).name);
        self.records.write(&Record::LoadClass {
            serial: serials::class(id),
            class_object: object,
            trace: serials::trace(TraceId::EMPTY),
            name,
        });
    }

    /// Writes a thread that has started, unless it has been written. Within a heap dump, which holds back START THREAD
    /// records, it is written before the first trace that names it.
    fn thread(&mut self, serial: ThreadSerial) {
        let Some(thread) = self.threads.lock().take(serial) else {
            return;
        };
        let object = thread.object.unwrap_or_else(|| self.tables.objects.add());
        self.start_thread(serial, object, &thread.names);
        match thread.has_ended {
            true => self.end_thread(serial),
            false => self.tables.threads.announced(serial, object),
        }
        self.threads.lock().wrote(serial, thread, object);
    }

    /// Writes a thread, preceded by its names. Returns the id of its object.
    pub fn thread_started(&mut self, serial: ThreadSerial, names: &ThreadNames) -> ObjectId {
        let object = self.tables.objects.add();
        self.start_thread(serial, object, names);
        object
    }

    fn start_thread(&mut self, serial: ThreadSerial, object: ObjectId, names: &ThreadNames) {
        let name = self.thread_name(&names.name);
        let group = self.interned(&names.group);
        let parent_group = self.interned(&names.parent_group);
        self.records.write(&Record::StartThread {
            serial: serials::thread(serial),
            object: serials::object(object),
            trace: serials::trace(TraceId::EMPTY),
            name,
            group,
            parent_group,
        });
    }

    fn end_thread(&mut self, serial: ThreadSerial) {
        self.records.write(&Record::EndThread {
            serial: serials::thread(serial),
        });
    }

    fn unloaded(&mut self, id: ClassId) {
        if is_new(&mut self.written.unloaded_classes, id.index()) {
            self.records.write(&Record::UnloadClass {
                serial: serials::class(id),
            });
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

/// Adds the number to the set; returns `true` if it was not in it.
fn is_new(set: &mut FixedBitSet, index: u32) -> bool {
    let index = index as usize;
    set.grow(set.len().max(index + 1));
    !set.put(index)
}

#[cfg(test)]
pub(crate) mod tests;
