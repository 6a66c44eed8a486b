//! How long a reader may take nothing. The threads of the program wait once the queue is full, so one that has stopped
//! reading must not be waited for without end.

use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// The interval at which a waiting write checks whether the program is ending.
pub(super) const POLL_INTERVAL: Duration = Duration::from_millis(500);
/// The longest that a reader may take nothing. Shorter breaks are the network's.
const TIMEOUT: Duration = Duration::from_secs(60);
/// The same limit once the program is ending.
const LAST_TIMEOUT: Duration = Duration::from_secs(20);

/// The limits of one destination.
#[derive(Clone, Copy)]
pub(super) struct Timeouts {
    /// The reader's name in messages.
    pub(super) reader: &'static str,
    pub(super) running: Duration,
    pub(super) ending: Duration,
}

impl Timeouts {
    pub(super) fn new(reader: &'static str) -> Self {
        Self {
            reader,
            running: TIMEOUT,
            ending: LAST_TIMEOUT,
        }
    }

    fn passed(self, time: Duration) -> io::Error {
        let message = format!("{} has taken nothing for {} s", self.reader, time.as_secs());
        io::Error::new(ErrorKind::TimedOut, message)
    }
}

/// The time that a write has waited, and the part of it since the program began to end.
#[derive(Default)]
pub(super) struct SendWait {
    since: Option<Instant>,
    ending_since: Option<Instant>,
}

impl SendWait {
    /// Called each time that the reader has taken nothing for [`POLL_INTERVAL`]. Returns an error if that was too often.
    pub(super) fn go_on(&mut self, timeout: Timeouts, is_ending: bool) -> io::Result<()> {
        let now = Instant::now();
        // The first check comes after one wait.
        let waited = now - *self.since.get_or_insert(now - POLL_INTERVAL);
        if is_ending && now - *self.ending_since.get_or_insert(now) >= timeout.ending {
            return Err(timeout.passed(timeout.ending));
        }
        if waited >= timeout.running {
            return Err(timeout.passed(timeout.running));
        }
        Ok(())
    }
}
