//! The destination of a profile: one output, or one for each period.

use std::sync::Arc;
use std::time::Duration;

use super::Receiver;
use super::receiver::Listener;
use crate::jvmti::Jni;
use crate::output::Writer;

/// An output that has been opened.
pub struct Destination {
    /// The name shown to the user: the file, as an absolute path if that could be determined, or the receiver.
    pub name: String,
    /// The source of commands; `None` if the profile goes to a file.
    pub receiver: Option<Receiver>,
    /// Called once the output is closed, with `true` if it could be written whole.
    pub closed: Box<dyn Fn(bool) + Send + Sync>,
}

/// The length of periods, and the destination of each.
pub struct Rotation {
    /// The condition that ends a period.
    pub length: PeriodLength,
    /// Opens the output of the next period. If it cannot, it reports why and returns `None`.
    pub next: Box<dyn Fn() -> Option<(Destination, Writer)> + Send + Sync>,
}

/// The length of a period.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodLength {
    /// The time since the period began.
    Time(Duration),
    /// The number of bytes written.
    Bytes(u64),
}

/// Ends a profile by itself after a time (`timeout=`).
pub struct Timeout {
    /// The time after which it ends.
    pub after: Duration,
    /// Ends the session, if the function still answers `true`.
    pub stop: Arc<Stop>,
}

/// The function that ends a session: [`Timeout::stop`].
pub type Stop = dyn Fn(Jni<'_>, &dyn Fn() -> bool) + Send + Sync;

/// The output that is being written.
pub(super) struct OpenDestination {
    pub(super) name: String,
    pub(super) listener: Option<Arc<Listener>>,
    closed: Box<dyn Fn(bool) + Send + Sync>,
}

impl OpenDestination {
    pub(super) fn new(destination: Destination) -> Self {
        Self {
            name: destination.name,
            listener: destination.receiver.map(Listener::new).map(Arc::new),
            closed: destination.closed,
        }
    }

    /// Finishes an output that has been closed.
    pub(super) fn finish(&self, is_whole: bool) {
        if let Some(listener) = &self.listener {
            listener.finish();
        }
        (self.closed)(is_whole);
    }
}
