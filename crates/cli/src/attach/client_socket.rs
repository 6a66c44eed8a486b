//! A socket of this command in the program's file system, to which the agent connects.

use std::fs::Permissions;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use tempfile::TempDir;

use super::limit::Limit;
use super::process::Process;
use super::view::Folder;
use super::{Error, TEMPORARY, socket as streams, temporary};
use crate::interrupts::BeforeTheEnd;

/// The prefix of the folders' names.
const FOLDER: &str = ".hprof-live-";
const SOCKET: &str = "socket";
/// The longest that the connection of an agent that has answered may take.
const TIMEOUT: Duration = Duration::from_secs(10);

/// A connection to the agent.
pub type Connection = UnixStream;

/// A socket in a folder that only the program's user can enter. Both are removed on drop, or by the next process if this
/// one is killed.
pub struct ClientSocket {
    listener: UnixListener,
    private: TempDir,
    _end: BeforeTheEnd,
    /// Declared after the folder, which is removed from it.
    _folder: Folder,
}

impl ClientSocket {
    pub(super) fn create(process: &Process) -> Result<Self, Error> {
        let folder = temporary(process)?;
        sweep(&folder);
        let failed = |error: io::Error| Error::Theirs {
            pid: process.pid(),
            path: Path::new(TEMPORARY).join(FOLDER),
            // Without the path, which only this process can use.
            error: error.kind().into(),
        };
        let mut builder = tempfile::Builder::new();
        let builder = builder.prefix(FOLDER).rand_bytes(12);
        let builder = builder.permissions(Permissions::from_mode(0o700));
        let private = builder.tempdir_in(folder.path()).map_err(failed)?;
        let listener = UnixListener::bind(private.path().join(SOCKET)).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let path = private.path().to_owned();
        Ok(Self {
            listener,
            private,
            _end: BeforeTheEnd::call(move || drop(std::fs::remove_dir_all(path))),
            _folder: folder,
        })
    }

    /// Returns the path as the program sees it.
    pub fn own_path(&self) -> PathBuf {
        let name = self.private.path().file_name().unwrap_or_default();
        Path::new(TEMPORARY).join(name).join(SOCKET)
    }

    /// Returns the connection of the program's agent, and of nobody else. Nothing is left behind in the file system.
    pub(super) fn accept(self, process: &Process) -> Result<UnixStream, Error> {
        let pid = process.pid();
        let limit = Limit::start(pid, TIMEOUT);
        loop {
            match self.listener.accept() {
                Ok((stream, _)) if is_of(&stream, process) => {
                    let plain = stream.set_nonblocking(false).map(|()| stream);
                    return plain.map_err(|error| Error::Broken { pid, error });
                }
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    if process.has_ended() {
                        return Err(Error::Ended(pid));
                    }
                    limit.check()?;
                    sleep(Duration::from_millis(10));
                }
                Err(error) => return Err(Error::Broken { pid, error }),
            }
        }
    }
}

fn is_of(stream: &UnixStream, process: &Process) -> bool {
    getsockopt(stream, PeerCredentials).is_ok_and(|peer| {
        u32::try_from(peer.pid()) == Ok(process.pid()) && peer.uid() == process.owner()
    })
}

/// Removes the folders of killed clients: nobody listens there.
fn sweep(folder: &Folder) {
    for name in folder.names(FOLDER) {
        let Ok(private) = folder.folder(&name) else {
            continue;
        };
        let socket = private.path().join(SOCKET);
        let answer = streams::connect(socket);
        if answer.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused) {
            private.remove(SOCKET);
            // Another user's cannot be removed.
            let _ = std::fs::remove_dir(folder.path().join(&name));
        }
    }
}
