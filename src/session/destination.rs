//! Where a profile goes: one output, or one for each period.

use std::sync::Arc;
use std::time::Duration;

use super::Receiver;
use super::receiver::Listener;
use crate::jvmti::Jni;
use crate::output::Writer;

/// An output that has been opened.
pub struct Destination {
    /// What the user calls it: the file, as an absolute path where that could be found out, or the receiver.
    pub name: String,
    /// Who sends commands; `None` where the profile goes to a file.
    pub receiver: Option<Receiver>,
    /// Called once it is closed; `true` if it could be written whole.
    pub closed: Box<dyn Fn(bool) + Send + Sync>,
}

/// How long periods are, and where each goes.
pub struct Rotation {
    /// When a period ends.
    pub length: PeriodLength,
    /// Opens the output of the next one; says why where it cannot.
    pub next: Box<dyn Fn() -> Option<(Destination, Writer)> + Send + Sync>,
}

/// When a period ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PeriodLength {
    /// After so long.
    Time(Duration),
    /// When so many bytes have been written.
    Bytes(u64),
}

/// When a profile ends by itself, and what ends it then.
pub struct Timeout {
    /// After so long.
    pub after: Duration,
    /// Ends the session, if the function still answers `true`.
    pub stop: Arc<Stop>,
}

/// What [`Timeout::stop`] is.
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

    /// It has been closed.
    pub(super) fn finish(&self, is_whole: bool) {
        if let Some(listener) = &self.listener {
            listener.finish();
        }
        (self.closed)(is_whole);
    }
}
