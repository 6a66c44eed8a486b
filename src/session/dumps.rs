//! When dumps are made: one after the other, none before the session has begun, and those of SIGQUIT on a thread of their
//! own.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::engines::{Totals, Worker};
use locks::{Mutex, MutexGuard, rank};

/// The dumps of a session.
#[derive(Default)]
pub(super) struct Dumps {
    /// Held while one is written. They never mix.
    writing: Mutex<(), rank::Dumping>,
    /// Held for a moment.
    beginning: Mutex<Beginning, rank::Beginning>,
    /// The number of SIGQUITs that have not been handled.
    requested: AtomicU32,
    /// Handles them.
    pub(super) thread: Worker,
}

/// Whether dumps can be made. The VM may ask for one before: its signal thread runs at the same time as VMInit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Beginning {
    /// Not yet.
    #[default]
    Ahead,
    /// Not yet, and one has been requested.
    Requested(Totals),
    /// At once.
    Done,
}

impl Dumps {
    /// Waits until no other dump is being written.
    pub(super) fn lock(&self) -> MutexGuard<'_, (), rank::Dumping> {
        self.writing.lock()
    }

    /// As [`Dumps::lock`], but gives up after that time.
    pub(super) fn try_lock_for(
        &self,
        timeout: Duration,
    ) -> Option<MutexGuard<'_, (), rank::Dumping>> {
        self.writing.try_lock_for(timeout)
    }

    /// Marks the session as begun. Returns the treatment of costs in a dump that was requested before.
    pub(super) fn begin(&self) -> Option<Totals> {
        match std::mem::replace(&mut *self.beginning.lock(), Beginning::Done) {
            Beginning::Requested(totals) => Some(totals),
            Beginning::Ahead | Beginning::Done => None,
        }
    }

    /// Returns `true` if a dump can be made now; one that comes too early is made when the session has begun.
    pub(super) fn may_begin(&self, totals: Totals) -> bool {
        let mut beginning = self.beginning.lock();
        let may = *beginning == Beginning::Done;
        if !may {
            *beginning = Beginning::Requested(totals);
        }
        may
    }

    /// Has the thread make a dump.
    pub(super) fn request(&self) {
        self.requested.fetch_add(1, Ordering::Relaxed);
        self.thread.wake();
    }

    /// Takes one of the requests; returns `false` if there is none.
    pub(super) fn take_request(&self) -> bool {
        let one_less = |requested: u32| requested.checked_sub(1);
        let relaxed = Ordering::Relaxed;
        let taken = self.requested.fetch_update(relaxed, relaxed, one_less);
        taken.is_ok()
    }
}
