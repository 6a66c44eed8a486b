//! Methods.

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::classes::ClassId;
use super::pool::{Pool, key};
use super::symbols::SymbolId;
use crate::encoding::encode;

/// Names a method of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MethodId(pub(super) u64);

/// A method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Method {
    /// Its class.
    pub class: ClassId,
    /// Its name.
    pub name: SymbolId,
    /// Its signature, `(I)V`. Readers parse it, so there must be one.
    pub signature: SymbolId,
}

/// All methods, each once.
#[derive(Debug, Default)]
pub struct Methods(IndexSet<Method, RandomState>);

impl Methods {
    /// Returns the id of a method, adding it if it is new.
    pub fn intern(&mut self, method: Method) -> MethodId {
        MethodId(key(self.0.insert_full(method).0))
    }
}

impl Pool for Methods {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (place, method) in self.0.iter().enumerate() {
            encode::long(out, key(place));
            encode::long(out, method.class.0);
            encode::long(out, method.name.0);
            encode::long(out, method.signature.0);
            // No modifiers are known; it is not hidden.
            encode::int(out, 0);
            out.push(0);
        }
    }
}
