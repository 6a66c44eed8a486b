//! Classes, and the packages that they are in.

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use super::pool::{Pool, key};
use super::symbols::{SymbolId, Symbols};
use crate::encoding::encode;

/// Names a class of one recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ClassId(pub(super) u64);

/// All classes, each once, by their names.
#[derive(Debug, Default)]
pub struct Classes {
    rows: IndexSet<(SymbolId, Option<u64>), RandomState>,
    pub(super) packages: Packages,
}

/// All packages, each once.
#[derive(Debug, Default)]
pub(super) struct Packages(IndexSet<SymbolId, RandomState>);

impl Classes {
    /// Returns the id of a class, adding it if it is new. Its name is that of a class file, `java/lang/String` or `[I`.
    pub fn intern(&mut self, symbols: &mut Symbols, name: &str) -> ClassId {
        let element = name.trim_start_matches('[');
        let package = element
            .strip_prefix(if name.starts_with('[') { "L" } else { "" })
            .and_then(|element| element.rsplit_once('/'))
            .map(|(package, _)| key(self.packages.0.insert_full(symbols.intern(package)).0));
        let row = (symbols.intern(name), package);
        ClassId(key(self.rows.insert_full(row).0))
    }
}

impl Pool for Classes {
    fn len(&self) -> usize {
        self.rows.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (place, &(name, package)) in self.rows.iter().enumerate() {
            encode::long(out, key(place));
            // No class loader is known, and no modifiers are.
            encode::long(out, 0);
            encode::long(out, name.0);
            encode::long(out, package.unwrap_or(0));
            encode::int(out, 0);
        }
    }
}

impl Pool for Packages {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        for (place, name) in self.0.iter().enumerate() {
            encode::long(out, key(place));
            encode::long(out, name.0);
            // No module is known, and whether it is exported.
            encode::long(out, 0);
            out.push(1);
        }
    }
}
