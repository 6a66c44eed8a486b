//! The progress of long operations.

/// The number of records between two reports of the progress.
pub(crate) const STEP: u64 = 1 << 20;

/// The stage of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Looking for objects.
    Index,
    /// Reading their references.
    References,
    /// Computing dominators.
    Dominators,
    /// Looking for paths and groups.
    Analysis,
    /// Writing an index.
    Saving,
}

impl Stage {
    /// Returns a few words for a terminal.
    #[must_use]
    pub fn describe(self) -> &'static str {
        match self {
            Stage::Index => "looking for objects",
            Stage::References => "reading references",
            Stage::Dominators => "finding dominators",
            Stage::Analysis => "looking for what is kept",
            Stage::Saving => "writing the index",
        }
    }
}

/// Receives the progress of an operation.
pub trait Progress {
    /// Reports `done` of `all` of a stage, in units of the stage's own.
    fn at(&self, stage: Stage, done: u64, all: u64);

    /// Reports the number of objects that have been found.
    fn objects(&self, count: u64) {
        let _ = count;
    }
}

/// Ignores the progress.
#[derive(Debug)]
pub struct Silent;

impl Progress for Silent {
    fn at(&self, _: Stage, _: u64, _: u64) {}
}
