//! Ids for the objects that are named in a profile without a heap dump: threads and classes.

use std::sync::atomic::{AtomicU64, Ordering};

/// The id of an object in the output, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectId(pub u64);

/// The id of the first object.
const FIRST: u64 = 400_000;

/// The number of ids that are reserved for the objects of one heap dump.
pub const DUMPED: u64 = 1 << 33;

/// Assigns object ids.
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
    /// Returns a new object id.
    pub fn add(&self) -> ObjectId {
        ObjectId(self.named.fetch_add(1, Ordering::Relaxed))
    }

    /// Returns the first of [`DUMPED`] ids that are reserved for one heap dump.
    pub fn add_dump(&self) -> ObjectId {
        ObjectId((self.dumps.fetch_add(1, Ordering::Relaxed) + 1) * DUMPED)
    }
}
