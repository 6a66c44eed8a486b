//! Records that are written as things happen, and a note of which names the file already has.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hprof_format::{Note, NoteMeaning};

use super::Writer;
use super::announced::{AnnouncedThreads, KeptThreads, ThreadNames};
use super::entry::{Entry, Written};
use super::serials;
use super::settings::ControlSettings;
use locks::{Condvar, Guard, Mutex, RwLock, rank};
use memory::{List, OrStop};
use names::Tables;
use names::class::ClassId;
use names::thread::ThreadSerial;

/// Writes records and remembers which of the tables' entries are in the file.
///
/// While a heap dump is written, its records stay together: other records are held back, so that threads which start
/// and end do not wait for the dump. When [`HELD`] records have piled up, each waits for a
/// moment.
///
/// [`Journal::start_period`] continues in another output, where the names that later records refer to are written again.
pub struct Journal {
    tables: Arc<Tables>,
    settings: ControlSettings,
    writer: RwLock<Arc<Writer>, rank::CurrentWriter>,
    /// `Some` while a heap dump is being written.
    held: Mutex<Option<List<DeferredRecord>>, rank::HeldRecords>,
    released: Condvar,
    /// The number of heap dump segments that have been written.
    segments: Arc<AtomicU64>,
    threads: Arc<Mutex<AnnouncedThreads, rank::AnnouncedThreads>>,
    /// Those of the profile whose companion this output is.
    threads_of_profile: Option<Arc<Mutex<AnnouncedThreads, rank::AnnouncedThreads>>>,
    written: Mutex<Written, rank::WrittenNames>,
}

/// Writes a record that was held back.
type DeferredRecord = Box<dyn FnOnce(&mut Entry<'_>) + Send>;

/// The number of events that a heap dump holds back before threads have to wait; about 200 bytes each.
const HELD: usize = 64 * 1024;
/// The longest that an event then waits for the end of the dump, whose thread may be suspended.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

impl Journal {
    /// Opens the output with the records that every file starts with: the settings, and the empty trace that other
    /// records name before any real trace is known.
    pub fn start(tables: Arc<Tables>, writer: Writer, settings: ControlSettings) -> Self {
        let journal = Self::empty(tables, writer, settings);
        journal.entry(|entry| entry.head());
        journal
    }

    /// Opens another output of the same run, which says what is known now while this one continues. It begins with the
    /// threads that are alive; of those that start later it has only what its records name. `dump_follows` if it gets a heap dump.
    pub fn companion(&self, writer: Writer, dump_follows: bool) -> Self {
        let settings = ControlSettings {
            heap_dump: dump_follows,
            ..self.settings
        };
        let mut threads = self.threads.lock().for_companion();
        let alive = threads.restart();
        let journal = Self {
            segments: self.segments.clone(),
            threads: Arc::new(Mutex::new(threads)),
            threads_of_profile: Some(self.threads.clone()),
            ..Self::empty(self.tables.clone(), writer, settings)
        };
        journal.entry(|entry| {
            entry.head();
            alive.into_iter().for_each(|serial| entry.thread(serial));
        });
        journal
    }

    /// As [`Journal::companion`], for an output that is made again and again: of the threads it has only those that traces
    /// name.
    pub fn snapshot(&self, writer: Writer) -> Self {
        let settings = ControlSettings {
            heap_dump: false,
            ..self.settings
        };
        let (threads, threads_of_profile) = match self.settings.kept_threads {
            KeptThreads::All => (
                self.threads.lock().for_companion(),
                Some(self.threads.clone()),
            ),
            KeptThreads::None | KeptThreads::Alive => {
                (AnnouncedThreads::new(KeptThreads::None), None)
            }
        };
        let journal = Self {
            threads: Arc::new(Mutex::new(threads)),
            threads_of_profile,
            ..Self::empty(self.tables.clone(), writer, settings)
        };
        journal.entry(|entry| entry.head());
        journal
    }

    fn empty(tables: Arc<Tables>, writer: Writer, settings: ControlSettings) -> Self {
        Self {
            tables,
            settings,
            writer: RwLock::new(Arc::new(writer)),
            held: Mutex::new(None),
            released: Condvar::new(),
            segments: Arc::default(),
            threads: Arc::new(Mutex::new(AnnouncedThreads::new(settings.kept_threads))),
            threads_of_profile: None,
            written: Mutex::default(),
        }
    }

    /// Continues in another output. The previous one gets `note` as its last line and is returned, for the caller to
    /// close. Every record is in exactly one of the two. Must not be called within a heap dump.
    pub fn start_period(&self, writer: Writer, note: &str) -> Arc<Writer> {
        let mut written = self.written.lock();
        self.entry_of(&mut written, |entry| entry.note(note));
        *written = Written::default();
        let alive = self.threads.lock().restart();
        let before = std::mem::replace(&mut *self.writer.write(), Arc::new(writer));
        self.entry_of(&mut written, |entry| {
            entry.head();
            alive.into_iter().for_each(|serial| entry.thread(serial));
        });
        before
    }

    /// Returns `true` if the start of a thread is in the output, or will be.
    pub fn has_thread(&self, serial: ThreadSerial) -> bool {
        self.threads.lock().get(serial).is_some()
    }

    /// Records that a thread has started.
    pub fn thread_started(&self, serial: ThreadSerial, names: ThreadNames) {
        if !self.settings.threads {
            return;
        }
        self.threads.lock().started(serial, names);
        self.happened(move |entry| entry.thread(serial));
    }

    /// Records that a thread has another name now. Later outputs know it by that one alone.
    pub fn thread_renamed(&self, serial: ThreadSerial, name: String) {
        if !self.settings.threads {
            return;
        }
        self.happened(move |entry| {
            entry.thread(serial);
            entry.threads.lock().renamed(serial, &name);
            let thread = serials::thread(serial);
            if let Some(note) = Note::of_meaning(NoteMeaning::Renamed { thread, name }) {
                entry.note(&note.text);
            }
        });
    }

    /// Records that a thread has ended.
    pub fn thread_ended(&self, serial: ThreadSerial) {
        if !self.settings.threads {
            return self.tables.threads.ended(serial);
        }
        self.happened(move |entry| {
            entry.tables.threads.ended(serial);
            entry.threads.lock().ended(serial);
            entry.end_thread(serial);
        });
    }

    /// Records that a class has been unloaded.
    pub fn class_unloaded(&self, class: ClassId) {
        self.happened(move |entry| entry.unloaded(class));
    }

    /// Writes records about an event; during a heap dump, after the dump, so that the order of events is kept.
    ///
    /// May wait for the end of the heap dump while the caller holds Java monitors and `ThreadRegistry::registering`. So the
    /// thread that dumps must not register a thread, must not run Java code (a contended monitor there would be an event,
    /// which registers the thread), and must not call this function.
    pub fn happened(&self, write: impl FnOnce(&mut Entry<'_>) + Send + 'static) {
        locks::check::<rank::HeapDump>();
        if self.writer().wait_for_room_briefly() {
            return self.cut();
        }
        let mut held = self.held.lock();
        let is_full = |held: &mut Option<List<DeferredRecord>>| {
            held.as_ref().is_some_and(|events| events.len() >= HELD)
        };
        self.released
            .wait_while_for(&mut held, is_full, LONGEST_WAIT);
        match &mut *held {
            Some(events) => {
                events.push(Box::new(write)).or_stop();
            }
            None => self.entry_now(write),
        }
    }

    /// Ends the profile because the output took nothing for too long.
    fn cut(&self) {
        let why = "the destination took nothing while too much happened";
        let is_first = self.entry_now(|entry| {
            let is_first = entry.records.is_sound();
            if is_first {
                entry.note(&format!("the profile ends here: {why}"));
                entry.records.cut();
            }
            is_first
        });
        if is_first {
            self.writer().report_cut(why);
        }
    }

    /// Counts a segment of a heap dump.
    pub fn count_segment(&self) {
        self.segments.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the number of heap dump segments written so far, which says whether a dump makes progress.
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
        locks::check::<rank::HeapDump>();
        *self.held.lock() = Some(List::new());
        Holding {
            journal: self,
            _dumping: Guard::new(()),
        }
    }

    /// Runs `write` with exclusive access to the output, so its records are not mixed with others. Waits first until the
    /// output has caught up.
    pub fn entry<T>(&self, write: impl FnOnce(&mut Entry<'_>) -> T) -> T {
        self.writer().wait_for_room();
        self.entry_now(write)
    }

    fn entry_now<T>(&self, write: impl FnOnce(&mut Entry<'_>) -> T) -> T {
        self.entry_of(&mut self.written.lock(), write)
    }

    fn entry_of<T>(&self, written: &mut Written, write: impl FnOnce(&mut Entry<'_>) -> T) -> T {
        let writer = self.writer();
        let mut records = writer.records();
        write(&mut Entry {
            settings: self.settings,
            tables: &self.tables,
            threads: &self.threads,
            threads_of_profile: self.threads_of_profile.as_deref(),
            written,
            records: &mut records,
        })
    }

    fn writer(&self) -> Arc<Writer> {
        self.writer.read().clone()
    }

    /// Writes the last line of the file. After a heap dump that was never finished it writes nothing.
    pub fn ended(&self, notes: &[&str]) {
        if self.held.lock().is_none() {
            self.entry(|entry| notes.iter().for_each(|note| entry.note(note)));
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

    /// Writes out everything so far, and makes sure that it survives a failure of the system. Only for an output
    /// without a thread of its own.
    pub fn sync(&self) {
        self.writer().sync();
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
        journal.entry_now(|entry| events.into_iter().for_each(|write| write(entry)));
        journal.released.notify_all();
    }
}

#[cfg(test)]
mod tests;
