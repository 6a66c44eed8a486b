//! The black box of a session (`blackbox=`): its file, what has been seen of the memory, and the thread that writes it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use super::memory_looks::MemoryLooks;
use crate::engines::Worker;
use locks::{Mutex, rank};
use output::BlackBoxFile;

/// The black box of a session, which may have none.
#[derive(Default)]
pub(super) struct BlackBox {
    /// Once it is open.
    file: OnceLock<Arc<BlackBoxFile>>,
    /// Set if the file stays when the profile ends.
    stays: AtomicBool,
    /// Writes it.
    pub(super) thread: Worker,
    /// Where the memory was, as the thread has looked at it.
    pub(super) looks: Mutex<MemoryLooks, rank::MemoryLooks>,
}

impl BlackBox {
    /// The file is open.
    pub(super) fn opened(&self, file: &Arc<BlackBoxFile>) {
        // Set once: the session starts once.
        let known = self.file.get_or_init(|| file.clone());
        debug_assert!(Arc::ptr_eq(known, file));
    }

    /// Leaves the file where it is when the profile ends.
    pub(super) fn keep(&self) {
        self.stays.store(true, Ordering::Relaxed);
    }

    /// Removes the file, unless it is to stay.
    pub(super) fn remove(&self) {
        if let Some(file) = self.file.get()
            && !self.stays.load(Ordering::Relaxed)
        {
            file.remove();
        }
    }
}
