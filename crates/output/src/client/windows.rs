//! The connection to `hprof live`, of which there is none on Windows.

use std::io;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use super::Sink;

/// There is none.
pub enum ClientSink {}

/// There are none.
pub enum ClientRequests {}

impl ClientSink {
    /// Returns an error.
    pub fn connect(_: &Path) -> io::Result<(Self, ClientRequests)> {
        Err(io::Error::new(
            io::ErrorKind::Unsupported,
            "the agent has no `hprof live` on Windows",
        ))
    }
}

impl Sink for ClientSink {
    fn name(&self) -> String {
        match *self {}
    }

    fn write(&mut self, _: &[u8], _: &AtomicBool) -> io::Result<()> {
        match *self {}
    }

    fn finish(&mut self, _: &AtomicBool) -> io::Result<()> {
        match *self {}
    }
}

#[allow(missing_docs, reason = "there is no value that has this method")]
impl ClientRequests {
    pub fn wait(&mut self, _: impl Fn() -> bool) -> bool {
        match *self {}
    }
}
