//! The virtual threads that have a serial number. The VM lists platform threads only.

use std::sync::Arc;

use jvmti::{Jni, LocalRef, Object, WeakRef};
use locks::{Mutex, rank};
use memory::{List, Map, OrStop};
use names::thread::ThreadSerial;

/// Keeps virtual threads from the time they get their number to their end.
#[derive(Default)]
pub(super) struct KnownVirtualThreads(
    Mutex<Map<ThreadSerial, Arc<WeakRef>>, rank::KnownVirtualThreads>,
);

impl KnownVirtualThreads {
    pub(super) fn add(&self, jni: Jni<'_>, thread: Object<'_>, serial: ThreadSerial) {
        // Without memory for the reference the thread is missing from dumps.
        if let Some(thread) = WeakRef::new(jni, thread) {
            self.0.lock().insert(serial, Arc::new(thread)).or_stop();
        }
    }

    pub(super) fn forget(&self, serial: ThreadSerial) {
        let gone = self.0.lock().remove(&serial);
        drop(gone);
    }

    pub(super) fn clear(&self) {
        let gone = std::mem::take(&mut *self.0.lock());
        drop(gone);
    }

    /// Returns the live ones, with their numbers; forgets those that were collected without having ended.
    pub(super) fn all<'a>(&self, jni: Jni<'a>) -> Vec<(ThreadSerial, LocalRef<'a>)> {
        let known: List<(ThreadSerial, Arc<WeakRef>)> = {
            let known = self.0.lock();
            let known = known.iter();
            List::collect(known.map(|(&serial, thread)| (serial, thread.clone()))).or_stop()
        };
        let mut all = Vec::new();
        for (serial, thread) in &known {
            match thread.upgrade(jni) {
                Some(thread) => all.push((*serial, thread)),
                None => self.forget(*serial),
            }
        }
        memory::sort_by_numbers(&mut all, |&(serial, _)| [serial.0.into(), 0]);
        all
    }
}
