//! Threads of the program, from their start to their end.

use std::sync::atomic::{AtomicU32, Ordering};

use memory::{Map, OrStop};

use super::object::ObjectId;
use locks::{Mutex, rank};

/// A thread's serial number in the output; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ThreadSerial(pub u32);

impl ThreadSerial {
    /// Stands for a thread that was never announced.
    pub const UNKNOWN: Self = Self(200_000);
}

/// The first thread's number, right after that of the unknown thread.
const FIRST: u32 = ThreadSerial::UNKNOWN.0 + 1;

/// The thread table. It counts threads, and remembers the object ids of those that are alive. Names go straight to the
/// output, so that a program which starts millions of threads does not fill the memory with them.
pub struct Threads {
    next: AtomicU32,
    objects: Mutex<Map<ThreadSerial, ObjectId>, rank::ThreadObjects>,
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
    /// Returns a new serial number.
    pub fn add(&self) -> ThreadSerial {
        ThreadSerial(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Notes the object id that a thread was announced with.
    pub fn announced(&self, serial: ThreadSerial, object: ObjectId) {
        self.objects.lock().insert(serial, object).or_stop();
    }

    /// Returns the object id that a live thread was announced with.
    pub fn object(&self, serial: ThreadSerial) -> Option<ObjectId> {
        self.objects.lock().get(&serial).copied()
    }

    /// Returns the live thread that was announced with this object id.
    pub fn with_object(&self, object: ObjectId) -> Option<ThreadSerial> {
        let objects = self.objects.lock();
        objects
            .iter()
            .find_map(|(&serial, &own)| (own == object).then_some(serial))
    }

    /// Forgets a thread that has ended.
    pub fn ended(&self, serial: ThreadSerial) {
        self.objects.lock().remove(&serial);
    }
}
