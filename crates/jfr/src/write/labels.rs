//! Constants that are a text: states of threads, types of frames.

use super::pool::Pool;
use super::symbols::Symbols;

/// Names a text of one table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LabelId(pub(super) u64);

/// Texts, each once. They are written as symbols are.
#[derive(Debug, Default)]
pub struct Labels(Symbols);

impl Labels {
    /// Returns the id of a text, adding it if it is new.
    pub fn intern(&mut self, text: &str) -> LabelId {
        LabelId(self.0.intern(text).0)
    }
}

impl Pool for Labels {
    fn len(&self) -> usize {
        self.0.len()
    }

    fn write(&self, out: &mut Vec<u8>) {
        self.0.write(out);
    }
}
