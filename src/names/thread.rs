//! Threads of the program, from their start to their end.

use std::sync::atomic::{AtomicU32, Ordering};

use foldhash::fast::FixedState;
use hashbrown::HashMap;

use super::object::ObjectId;
use crate::lock_order::{Mutex, rank};

/// A thread's serial number in the output; never given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadSerial(pub u32);

impl ThreadSerial {
    /// A thread that was never announced.
    pub const UNKNOWN: Self = Self(200_000);
}

/// The first thread has the number after the unknown one's.
const FIRST: u32 = ThreadSerial::UNKNOWN.0 + 1;

/// The thread table. It counts, and remembers of the threads that are alive what the output calls their objects: a
/// thread's names go straight to the output, so that a program which starts millions of threads does not fill the memory
/// with them.
pub struct Threads {
    next: AtomicU32,
    objects: Mutex<HashMap<ThreadSerial, ObjectId, FixedState>, rank::ThreadObjects>,
}

impl Default for Threads {
    fn default() -> Self {
        Self {
            next: AtomicU32::new(FIRST),
            objects: Mutex::default(),
        }
    }
}

impl Threads {
    /// A new thread's serial number.
    pub fn add(&self) -> ThreadSerial {
        ThreadSerial(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// A thread was announced with the id of its object.
    pub fn announced(&self, serial: ThreadSerial, object: ObjectId) {
        self.objects.lock().insert(serial, object);
    }

    /// The id with which a thread was announced that is alive.
    pub fn object(&self, serial: ThreadSerial) -> Option<ObjectId> {
        self.objects.lock().get(&serial).copied()
    }

    /// The thread that is alive and was announced with that id.
    pub fn with_object(&self, object: ObjectId) -> Option<ThreadSerial> {
        let objects = self.objects.lock();
        objects
            .iter()
            .find_map(|(&serial, &own)| (own == object).then_some(serial))
    }

    /// A thread has ended.
    pub fn ended(&self, serial: ThreadSerial) {
        self.objects.lock().remove(&serial);
    }
}
