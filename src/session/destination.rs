//! The destination of a profile: one output, or one for each period.

use std::path::PathBuf;
use std::sync::Arc;

use hprof_format::Encoder;

use super::listener::{Listener, Receiver};
use output::{BlackBoxFile, ClientRequests};

/// An output that has been opened.
pub struct Destination {
    /// The name shown to the user: the file, as an absolute path if that could be determined, or the receiver.
    pub name: String,
    /// The file; `None` if the profile goes to a receiver.
    pub file: Option<PathBuf>,
    /// Whoever takes the profile over the network.
    pub receiver: Option<Receiver>,
    /// The requests of the `hprof live` that takes it.
    pub requests: Option<ClientRequests>,
}

/// The file of `blackbox=`, and how to encode a profile in it.
pub struct BlackBoxOutput {
    /// The file.
    pub file: Arc<BlackBoxFile>,
    /// Creates an encoder of a profile, with the facts about the run.
    pub encoder: Box<dyn Fn() -> Box<dyn Encoder> + Send>,
}

/// The output that is being written.
pub(super) struct OpenDestination {
    pub(super) name: String,
    pub(super) file: Option<PathBuf>,
    pub(super) listener: Option<Arc<Listener>>,
    /// Taken by the thread that answers them.
    pub(super) requests: Option<ClientRequests>,
}

impl OpenDestination {
    pub(super) fn new(destination: Destination) -> Self {
        Self {
            name: destination.name,
            file: destination.file,
            listener: destination.receiver.map(Listener::new).map(Arc::new),
            requests: destination.requests,
        }
    }
}
