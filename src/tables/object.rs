//! Ids for the objects that a profile without a heap dump names: threads and classes.

use std::sync::atomic::{AtomicU64, Ordering};

/// The id of an object in the output, never 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ObjectId(pub u64);

/// The first object has this id.
const FIRST: u64 = 400_000;

/// Gives out object ids.
pub struct Objects(AtomicU64);

impl Default for Objects {
    fn default() -> Self {
        Self(AtomicU64::new(FIRST))
    }
}

impl Objects {
    /// A new object's id.
    pub fn add(&self) -> ObjectId {
        ObjectId(self.0.fetch_add(1, Ordering::Relaxed))
    }
}
