//! Names of classes, methods, signatures, files and thread groups, each kept once.

use super::intern::{Interner, table_ids};

table_ids! {
    /// The id of a name.
    StringId
}

/// The string table.
#[derive(Default)]
pub struct Strings(Interner<Box<str>>);

impl Strings {
    /// Returns the id of a name, adding it if it is new.
    pub fn intern(&self, text: &str) -> StringId {
        StringId(self.0.intern(text, || text.into()))
    }

    /// Returns the name with this id.
    pub fn get(&self, id: StringId) -> &str {
        self.0.get(id.0)
    }
}
