//! What the hooks of one kind need of the current run. The VM calls them as plain functions, so it is in statics.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use super::ledger::Ledger;
use locks::{RwLock, rank};
use memory::PerThread;

/// The state of the hooks of one kind. `T` is that of one thread.
pub(super) struct HookRun<T> {
    threads: PerThread<ThreadInRun<T>>,
    /// The number of the current run, 0 for none. A thread's state from an earlier run is discarded.
    run: AtomicU32,
    runs: AtomicU32,
    /// The ledger of that run.
    ledger: RwLock<Option<Arc<Ledger>>, rank::HooksLedger>,
}

struct ThreadInRun<T> {
    run: u32,
    state: T,
}

impl<T: 'static> HookRun<T> {
    pub(super) const fn new() -> Self {
        Self {
            threads: PerThread::new(),
            run: AtomicU32::new(0),
            runs: AtomicU32::new(0),
            ledger: RwLock::new(None),
        }
    }

    /// Makes the hooks record to a ledger.
    pub(super) fn begin(&self, ledger: Arc<Ledger>) {
        *self.ledger.write() = Some(ledger);
        let run = self.runs.fetch_add(1, Ordering::Relaxed).wrapping_add(1);
        self.run.store(run, Ordering::Release);
    }

    /// Makes the hooks do nothing.
    pub(super) fn end(&self) {
        self.stop();
        *self.ledger.write() = None;
    }

    /// As `end`, after a panic, which may have happened anywhere.
    pub(super) fn stop(&self) {
        self.run.store(0, Ordering::Release);
    }

    /// Called when the current thread ends: moves its measurements to the ledger.
    pub(super) fn finish(&self) {
        self.threads.with(Option::take);
    }

    /// Runs `body` with the current thread's state, made by `new` if it has none. Hooks never nest, because they call no Java.
    #[inline]
    pub(super) fn with<R>(
        &self,
        new: fn(&Arc<Ledger>) -> Option<T>,
        body: impl FnOnce(&mut T) -> R,
    ) -> Option<R> {
        let run = self.run.load(Ordering::Relaxed);
        if run == 0 || memory::is_out() {
            return None;
        }
        let answer = self.threads.with(|thread| match thread {
            Some(thread) if thread.run == run => Some(body(&mut thread.state)),
            stale => Some(body(self.renew(stale, run, new)?)),
        });
        answer.flatten()
    }

    #[cold]
    fn renew<'a>(
        &self,
        stale: &'a mut Option<ThreadInRun<T>>,
        run: u32,
        new: fn(&Arc<Ledger>) -> Option<T>,
    ) -> Option<&'a mut T> {
        let ledger = self.ledger.read().clone()?;
        // What it was must be gone before: the same place in memory may be needed again.
        *stale = None;
        let thread = ThreadInRun {
            run,
            state: new(&ledger)?,
        };
        Some(&mut stale.insert(thread).state)
    }
}
