//! Threads.

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::pool::{Pool, key};
use crate::encoding::encode;

/// Names a thread of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ThreadId(pub(super) u64);

/// All threads, each once, by their names.
#[derive(Debug, Default)]
pub struct Threads(IndexSet<Box<str>, RandomState>);

impl Threads {
    /// Returns the id of a thread, adding it if it is new.
    pub fn intern(&mut self, name: &str) -> ThreadId {
        if let Some(place) = self.0.get_index_of(name) {
            return ThreadId(key(place));
        }
        ThreadId(key(self.0.insert_full(name.into()).0))
    }
}

impl Pool for Threads {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (place, name) in self.0.iter().enumerate() {
            let id = key(place);
            encode::long(out, id);
            // Readers tell threads apart by their numbers.
            encode::text(out, name);
            encode::long(out, id);
            encode::text(out, name);
            encode::long(out, id);
            // No group is known.
            encode::long(out, 0);
        }
    }
}
