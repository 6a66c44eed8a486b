//! Texts that are stored once each.

use foldhash::fast::RandomState;
use indexmap::IndexSet;

use crate::number::number;

/// The id of a text in one [`Names`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Name(pub(crate) u32);

impl Name {
    /// Returns its position in [`Names::iter`].
    #[must_use]
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The texts of one profile: names of classes, methods, files, threads.
#[derive(Clone, Debug, Default)]
pub struct Names(IndexSet<Box<str>, RandomState>);

impl Names {
    /// Returns the id of a text, adding it if it is new; a very long one is truncated.
    pub fn intern(&mut self, text: &str) -> Name {
        let text = &*hprof_format::shortened(text);
        if let Some(index) = self.0.get_index_of(text) {
            return Name(number(index));
        }
        Name(number(self.0.insert_full(text.into()).0))
    }

    /// Returns the text of a name that this table returned.
    #[must_use]
    pub fn text(&self, name: Name) -> &str {
        self.0.get_index(name.index()).map_or("", |text| text)
    }

    /// Iterates over all texts, in the order in which they were added.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &str> {
        self.0.iter().map(|text| &**text)
    }
}
