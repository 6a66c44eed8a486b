//! Ids for the objects that a profile without a heap dump names: threads and classes.

use std::sync::atomic::{AtomicU64, Ordering};

/// The id of an object in the output, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectId(pub u64);

/// The first object has this id.
const FIRST: u64 = 400_000;

/// How many objects a heap dump can give numbers to.
pub const DUMPED: u64 = 1 << 33;

/// Gives out object ids.
pub struct Objects {
    named: AtomicU64,
    dumps: AtomicU64,
}

impl Default for Objects {
    fn default() -> Self {
        Self {
            named: AtomicU64::new(FIRST),
            dumps: AtomicU64::new(0),
        }
    }
}

impl Objects {
    /// A new object's id.
    pub fn add(&self) -> ObjectId {
        ObjectId(self.named.fetch_add(1, Ordering::Relaxed))
    }

    /// The first of [`DUMPED`] ids that are a heap dump's own.
    pub fn add_dump(&self) -> ObjectId {
        ObjectId((self.dumps.fetch_add(1, Ordering::Relaxed) + 1) * DUMPED)
    }
}
