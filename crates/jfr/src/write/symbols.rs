//! Texts of the VM's: names of classes and methods, signatures.

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::pool::{Pool, key};
use crate::encoding::encode;

/// Names a symbol of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SymbolId(pub(super) u64);

/// All symbols, each once.
#[derive(Debug, Default)]
pub struct Symbols(IndexSet<Box<str>, RandomState>);

impl Symbols {
    /// Returns the id of a symbol, adding it if it is new.
    pub fn intern(&mut self, text: &str) -> SymbolId {
        if let Some(place) = self.0.get_index_of(text) {
            return SymbolId(key(place));
        }
        SymbolId(key(self.0.insert_full(text.into()).0))
    }
}

impl Pool for Symbols {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (place, text) in self.0.iter().enumerate() {
            encode::long(out, key(place));
            encode::text(out, text);
        }
    }
}
