//! The VM's attach socket.
//!
//! A VM has none until a client asks for it: by a file .attach_pid<pid> in /tmp or in the program's working folder,
//! followed by SIGQUIT. The VM finds the file, and opens /tmp/.java_pid<pid> (without the file SIGQUIT would mean a
//! thread dump). A request is the version of the protocol, a command and three arguments, each ended by a zero byte;
//! the answer is a line with a number, followed by text.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::sys::socket::getsockopt;
use nix::sys::socket::sockopt::PeerCredentials;
use rustix::fs::FileType;

use super::answer::Answer;
use super::limit::Limit;
use super::process::Process;
use super::protocol::LONGEST_ARGUMENT;
use super::view::{Folder, FoundFile};
use super::{Error, TEMPORARY, perf_data, socket as streams, temporary};

/// The longest that a VM may take to open its socket.
const TIMEOUT: Duration = Duration::from_secs(15);

/// Sends one request, and waits so long for an answer of at most so many bytes.
pub fn request(
    process: &Process,
    command: &str,
    arguments: [&str; 3],
    (limit, longest): (Duration, u64),
) -> Result<Answer, Error> {
    if let Some(long) = arguments
        .iter()
        .map(|text| text.len())
        .find(|&length| length > LONGEST_ARGUMENT)
    {
        return Err(Error::TooLong(long));
    }
    let mut request = Vec::new();
    for part in ["1", command].into_iter().chain(arguments) {
        request.extend(part.as_bytes());
        request.push(0);
    }
    let pid = process.pid();
    let limit = Limit::start(pid, limit);
    let mut socket = connect(process, &limit)?;
    let answer = streams::ask(&limit, &mut socket, &request, longest);
    let answer = match answer {
        // The VM closes the connection without a word if it does not trust the client, and when it ends.
        Ok(None) => return Err(Error::TooMuch(pid)),
        Ok(Some(answer)) if !answer.is_empty() => answer,
        Err(error @ (Error::NoAnswer { .. } | Error::Interrupted(_))) => return Err(error),
        _ if process.is_ending() => return Err(Error::Ended(pid)),
        Ok(_) => return Err(Error::NoWord(pid)),
        Err(error) => return Err(error),
    };
    Answer::parse(pid, &answer)
}

/// Connects to the program's VM, and to no other process.
fn connect(process: &Process, limit: &Limit) -> Result<UnixStream, Error> {
    if process.is_stopped() {
        return Err(Error::Stopped(process.pid()));
    }
    let folder = temporary(process)?;
    let found = match socket(process, &folder)? {
        Some(found) => found,
        None => wake(process, &folder, limit)?,
    };
    let stream = match streams::connect(found.path()) {
        Ok(stream) => stream,
        Err(_) if process.has_ended() => return Err(Error::Ended(process.pid())),
        Err(error) if found.owner() != process.owner() => {
            return Err(Error::LeftSocket {
                pid: process.pid(),
                socket: path(process),
                uid: found.owner(),
                error,
            });
        }
        Err(error) => return Err(failed(process, error)),
    };
    let peer = getsockopt(&stream, PeerCredentials)
        .map_err(|error| failed(process, io::Error::from(error)))?;
    // 0 is a process that is not visible from here.
    let is_it = u32::try_from(peer.pid()) == Ok(process.pid());
    // While it lives, its number belongs to no other program.
    if is_it && is_trusted(peer.uid(), process) && !process.has_ended() {
        return Ok(stream);
    }
    Err(Error::ForeignPeer {
        pid: process.pid(),
        socket: path(process),
        peer: peer.pid(),
        uid: peer.uid(),
    })
}

/// Returns the VM's socket, if it has created one.
fn socket(process: &Process, folder: &Folder) -> Result<Option<FoundFile>, Error> {
    let found = folder.find(&name(process));
    let Some(found) = found.map_err(|error| failed(process, error))? else {
        return Ok(None);
    };
    let (pid, socket) = (process.pid(), path(process));
    if found.kind() != FileType::Socket {
        return Err(Error::NoSocket { pid, socket });
    }
    if !is_trusted(found.owner(), process) {
        let uid = found.owner();
        return Err(Error::ForeignSocket { pid, socket, uid });
    }
    Ok(Some(found))
}

fn is_trusted(user: u32, process: &Process) -> bool {
    user == 0 || user == process.owner()
}

fn name(process: &Process) -> String {
    format!(".java_pid{}", process.own_pid())
}

/// Returns the socket's path, as the program sees it.
fn path(process: &Process) -> PathBuf {
    Path::new(TEMPORARY).join(name(process))
}

fn failed(process: &Process, error: io::Error) -> Error {
    let (pid, path) = (process.pid(), path(process));
    Error::Theirs { pid, path, error }
}

/// Makes the VM open its socket.
fn wake(process: &Process, folder: &Folder, limit: &Limit) -> Result<FoundFile, Error> {
    let pid = process.pid();
    // Such a VM would treat SIGQUIT as a request for a thread dump.
    let capabilities = perf_data::find(process).remove(perf_data::CAPABILITIES);
    let is_told = process
        .command_line()
        .contains("-XX:+DisableAttachMechanism");
    if capabilities.map_or(is_told, |text| text.starts_with('0')) {
        return Err(Error::Disabled(pid));
    }
    if !process.catches_quit() {
        return Err(match process.has_ended() {
            true => Error::Ended(pid),
            false => Error::Deaf(pid),
        });
    }
    let _trigger = Trigger::create(process, folder)?;
    process.quit()?;
    let end = Instant::now() + TIMEOUT;
    loop {
        if let Some(found) = socket(process, folder)? {
            return Ok(found);
        }
        if process.has_ended() {
            return Err(Error::Ended(pid));
        }
        if Instant::now() >= end {
            let seconds = TIMEOUT.as_secs();
            return Err(Error::NoAnswer { pid, seconds });
        }
        limit.check()?;
        sleep(Duration::from_millis(10));
    }
}

/// The file that turns SIGQUIT from a request for a thread dump into one for the socket. It is removed when the VM has
/// answered.
struct Trigger<'a> {
    folder: &'a Folder,
    name: String,
}

impl<'a> Trigger<'a> {
    /// Creates it in the program's `/tmp`, or if that is not possible, in its working folder.
    fn create(process: &'a Process, temporary: &'a Folder) -> Result<Self, Error> {
        let name = format!(".attach_pid{}", process.own_pid());
        let failed = |error| Error::Theirs {
            pid: process.pid(),
            path: Path::new(TEMPORARY).join(&name),
            error,
        };
        let folder = match put(process, temporary, &name) {
            Ok(()) => temporary,
            Err(error) => match process.working_folder() {
                Some(working) if put(process, working, &name).is_ok() => working,
                _ => return Err(failed(error)),
            },
        };
        Ok(Self { folder, name })
    }
}

fn put(process: &Process, folder: &Folder, name: &str) -> io::Result<()> {
    let Err(error) = folder.create(name) else {
        return Ok(());
    };
    // Another tool is attaching right now, or died while it did. The VM checks the owner.
    match folder.find(name) {
        Ok(Some(found)) if is_trusted(found.owner(), process) => Ok(()),
        _ => Err(error),
    }
}

impl Drop for Trigger<'_> {
    fn drop(&mut self) {
        self.folder.remove(&self.name);
    }
}
