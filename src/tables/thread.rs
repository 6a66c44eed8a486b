//! Threads of the program, from their start to their end.

use std::sync::atomic::{AtomicU32, Ordering};

/// Names a thread in the output, for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadSerial(pub u32);

impl ThreadSerial {
    /// A thread that was never announced.
    pub const UNKNOWN: Self = Self(200_000);
}

/// The first thread has the number after the unknown one's.
const FIRST: u32 = ThreadSerial::UNKNOWN.0 + 1;

/// The thread table. It only counts: a thread's names go straight to the output, so that a program which starts
/// millions of threads does not fill the memory with them.
pub struct Threads {
    next: AtomicU32,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            next: AtomicU32::new(FIRST),
        }
    }
}

impl Threads {
    /// A new thread's serial number.
    pub fn add(&self) -> ThreadSerial {
        ThreadSerial(self.next.fetch_add(1, Ordering::Relaxed))
    }
}
