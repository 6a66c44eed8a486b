//! The destination of a profile: one, or one for each period.

use std::net::TcpStream;
use std::path::{self, Path, PathBuf};
use std::sync::Arc;

use hprof_format::Encoder;

use super::listener::Listener;
use output::{BlackBoxFile, ClientRequests};

/// Where a profile goes, once that is open.
pub enum Destination {
    /// A file.
    File {
        /// Its path.
        path: PathBuf,
        /// `true` for a regular file that nobody else writes to.
        is_plain: bool,
    },
    /// A receiver of `net=`.
    Receiver {
        /// Its address.
        address: String,
        /// Hears its commands.
        listener: Arc<Listener>,
    },
    /// An `hprof live`.
    Client {
        /// Its requests. Taken by the thread that answers them.
        requests: Option<ClientRequests>,
    },
}

impl Destination {
    /// Returns a receiver; `commands` is the connection that they are read from, `may_exit` whether one may make the VM exit.
    pub fn receiver(address: String, commands: TcpStream, may_exit: bool) -> Self {
        Self::Receiver {
            address,
            listener: Arc::new(Listener::new(commands, may_exit)),
        }
    }

    /// Returns the name shown to the user: of a file the absolute path, if that can be determined.
    pub fn name(&self) -> String {
        match self {
            Self::File { path, .. } => {
                let path = path::absolute(path).unwrap_or_else(|_| path.clone());
                path.display().to_string()
            }
            Self::Receiver { address, .. } => address.clone(),
            Self::Client { .. } => "hprof live".to_owned(),
        }
    }

    /// Returns the file; `None` if there is none.
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::File { path, .. } => Some(path),
            Self::Receiver { .. } | Self::Client { .. } => None,
        }
    }

    /// Returns the file if nobody else writes to it, so that others may be put into its folder.
    pub fn plain_file(&self) -> Option<&Path> {
        match self {
            Self::File {
                path,
                is_plain: true,
            } => Some(path),
            _ => None,
        }
    }

    /// Returns the path next to which temporary files are put: the file's own, if it is plain. A descriptor (`/dev/stdout`) has
    /// that of the file to which it refers.
    pub fn path_for_temporary_files(&self) -> PathBuf {
        let found = match self.plain_file() {
            Some(file) => Some(file.to_owned()),
            // A pipe without a name has none, nor has a file that was removed.
            None => self.file().and_then(|file| file.canonicalize().ok()),
        };
        found.unwrap_or_else(|| std::env::temp_dir().join("java.hprof"))
    }

    pub(super) fn listener(&self) -> Option<&Arc<Listener>> {
        match self {
            Self::Receiver { listener, .. } => Some(listener),
            Self::File { .. } | Self::Client { .. } => None,
        }
    }

    pub(super) fn take_requests(&mut self) -> Option<ClientRequests> {
        match self {
            Self::Client { requests } => requests.take(),
            Self::File { .. } | Self::Receiver { .. } => None,
        }
    }
}

/// The file of `blackbox=`, and how to encode a profile in it.
pub struct BlackBoxOutput {
    /// The file.
    pub file: Arc<BlackBoxFile>,
    /// Creates an encoder of a profile, with the facts about the run.
    pub encoder: Box<dyn Fn() -> Box<dyn Encoder> + Send>,
}
