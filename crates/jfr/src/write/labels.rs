//! Constants that are a text: states of threads, types of frames.

use indexmap::IndexSet;

use super::bytes;
use super::pool::{Pool, key};

/// Names a text of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelId(pub(super) u64);

/// Texts, each once.
#[derive(Debug, Default)]
pub struct Labels(IndexSet<&'static str>);

impl Labels {
    /// Returns the id of a text, adding it if it is new.
    pub fn intern(&mut self, text: &'static str) -> LabelId {
        LabelId(key(self.0.insert_full(text).0))
    }
}

impl Pool for Labels {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (place, text) in self.0.iter().enumerate() {
            bytes::long(out, key(place));
            bytes::text(out, text);
        }
    }
}
