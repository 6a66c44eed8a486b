//! Threads whose START THREAD records are pending or have been written.

use memory::{Map, OrStop};
use names::object::ObjectId;
use names::thread::ThreadSerial;

/// The names in a START THREAD record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ThreadNames {
    /// Its name.
    pub name: String,
    /// Its group's name.
    pub group: String,
    /// The name of the parent group.
    pub parent_group: String,
}

/// The threads whose names are kept after they are written, because another output follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeptThreads {
    /// None: there is only one output.
    None,
    /// The threads that are alive.
    Alive,
    /// All threads: traces can name them at any later time.
    All,
}

/// A START THREAD record that is to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Announcement {
    pub(super) names: ThreadNames,
    /// The id of the thread's object, if it has been given one.
    pub(super) object: Option<ObjectId>,
    pub(super) has_ended: bool,
}

/// The threads of a session, and which of them the current output has.
pub(super) struct AnnouncedThreads {
    keeps: KeptThreads,
    /// Threads that have started and are not written yet.
    ahead: Map<ThreadSerial, Announcement>,
    /// Threads that are in the output.
    written: Map<ThreadSerial, Announcement>,
}

impl AnnouncedThreads {
    pub(super) fn new(keeps: KeptThreads) -> Self {
        Self {
            keeps,
            ahead: Map::default(),
            written: Map::default(),
        }
    }

    /// Notes that a thread has started.
    pub(super) fn started(&mut self, serial: ThreadSerial, names: ThreadNames) {
        let announcement = Announcement {
            names,
            object: None,
            has_ended: false,
        };
        self.ahead.insert(serial, announcement).or_stop();
    }

    /// Takes out a thread's pending announcement, which is to be written next. An output that begins next to this one
    /// meanwhile has the thread all the same.
    pub(super) fn take(&mut self, serial: ThreadSerial) -> Option<Announcement> {
        let announcement = self.ahead.remove(&serial)?;
        if self.keeps != KeptThreads::None {
            let copy = announcement.clone();
            self.written.insert(serial, copy).or_stop();
        }
        Some(announcement)
    }

    /// Notes the id of a written thread's object.
    pub(super) fn wrote(&mut self, serial: ThreadSerial, object: ObjectId) {
        if let Some(thread) = self.written.get_mut(&serial) {
            thread.object = Some(object);
        }
    }

    /// Notes that a thread has another name now.
    pub(super) fn renamed(&mut self, serial: ThreadSerial, name: &str) {
        if let Some(thread) = self.written.get_mut(&serial) {
            name.clone_into(&mut thread.names.name);
        }
    }

    /// Notes that a thread's end has been written.
    pub(super) fn ended(&mut self, serial: ThreadSerial) {
        match self.keeps {
            KeptThreads::None => {}
            KeptThreads::Alive => drop(self.written.remove(&serial)),
            KeptThreads::All => {
                if let Some(thread) = self.written.get_mut(&serial) {
                    thread.has_ended = true;
                }
            }
        }
    }

    /// Returns what is known of a thread, whether it is written or not.
    pub(super) fn get(&self, serial: ThreadSerial) -> Option<Announcement> {
        let thread = self
            .ahead
            .get(&serial)
            .or_else(|| self.written.get(&serial));
        thread.cloned()
    }

    /// Adds a thread that another output has, unless this one knows it. Returns `true` if it is new.
    pub(super) fn add(&mut self, serial: ThreadSerial, announcement: Announcement) -> bool {
        let is_new = !self.ahead.contains_key(&serial) && !self.written.contains_key(&serial);
        if is_new {
            self.ahead.insert(serial, announcement).or_stop();
        }
        is_new
    }

    /// Returns the threads for an output next to this one, which has none of the records written so far.
    pub(super) fn for_companion(&self) -> Self {
        let threads = self.ahead.iter().chain(self.written.iter());
        let mut ahead = Map::default();
        let copies = threads.map(|(&serial, thread)| (serial, thread.clone()));
        ahead.extend(copies).or_stop();
        Self {
            keeps: KeptThreads::All,
            ahead,
            written: Map::default(),
        }
    }

    /// Begins another output, which has none of the records written so far. Returns the threads that are alive, in the
    /// order in which they started.
    pub(super) fn restart(&mut self) -> Vec<ThreadSerial> {
        self.ahead.extend(self.written.drain()).or_stop();
        let alive = self.ahead.iter().filter(|(_, thread)| !thread.has_ended);
        let mut alive: Vec<ThreadSerial> = alive.map(|(&serial, _)| serial).collect();
        alive.sort_unstable();
        alive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn threads(keeps: KeptThreads) -> AnnouncedThreads {
        let mut threads = AnnouncedThreads::new(keeps);
        for serial in [1, 2, 3] {
            let serial = ThreadSerial(serial);
            threads.started(serial, ThreadNames::default());
            threads.take(serial).expect("it has started");
            assert_eq!(threads.take(serial), None, "once");
            threads.wrote(serial, ObjectId(u64::from(serial.0) + 10));
        }
        threads.ended(ThreadSerial(2));
        threads
    }

    #[test]
    fn another_output_has_the_threads_that_are_alive() {
        let mut threads = threads(KeptThreads::Alive);
        assert_eq!(threads.restart(), [1, 3].map(ThreadSerial));
        let third = threads.take(ThreadSerial(3)).expect("it is alive");
        assert_eq!(third.object, Some(ObjectId(13)));
        assert_eq!(threads.take(ThreadSerial(2)), None);
    }

    #[test]
    fn another_output_has_the_last_name() {
        let mut threads = threads(KeptThreads::Alive);
        threads.renamed(ThreadSerial(3), "worker-3");
        threads.restart();
        let third = threads.take(ThreadSerial(3)).expect("it is alive");
        assert_eq!(third.names.name, "worker-3");
    }

    #[test]
    fn threads_that_traces_name_are_known_for_ever() {
        let mut threads = threads(KeptThreads::All);
        for _ in 0..2 {
            assert_eq!(threads.restart(), [1, 3].map(ThreadSerial));
            let second = threads.take(ThreadSerial(2)).expect("it is kept");
            assert!(second.has_ended);
            threads.wrote(ThreadSerial(2), ObjectId(12));
        }
    }

    #[test]
    fn a_companion_has_a_thread_that_is_being_written() {
        let mut threads = threads(KeptThreads::Alive);
        let fourth = ThreadSerial(4);
        threads.started(fourth, ThreadNames::default());
        threads.take(fourth).expect("it has started");
        let mut companion = threads.for_companion();
        assert_eq!(companion.restart(), [1, 3, 4].map(ThreadSerial));
        assert!(companion.take(fourth).is_some());
        let known = threads.get(fourth).expect("it is kept");
        assert!(!companion.add(fourth, known), "it is written");
    }

    #[test]
    fn one_output_keeps_no_names() {
        let mut threads = threads(KeptThreads::None);
        assert_eq!(threads.restart(), []);
    }
}
