//! The threads of `rotate=` and `timeout=`.

use std::sync::atomic::{AtomicBool, Ordering};

use crate::engines::Worker;

/// The threads that wait for a time.
#[derive(Default)]
pub(super) struct Clocks {
    /// Ends periods (`rotate=`).
    pub(super) periods: Worker,
    /// Ends the session at `timeout=`.
    pub(super) timeout: Worker,
    timed_out: AtomicBool,
}

impl Clocks {
    /// The thread of `timeout=` ends the session.
    pub(super) fn time_is_up(&self) {
        self.timed_out.store(true, Ordering::Relaxed);
    }

    /// Ends the threads.
    pub(super) fn stop(&self) {
        self.periods.stop();
        // The thread that ends the session may be one of them and cannot wait for itself.
        if !self.timed_out.load(Ordering::Relaxed) {
            self.timeout.stop();
        }
    }

    /// Tells them to stop without waiting for them.
    pub(super) fn ask_to_stop(&self) {
        self.periods.ask_to_stop();
        self.timeout.ask_to_stop();
    }
}
