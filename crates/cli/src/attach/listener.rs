//! The VM's attach socket.
//!
//! A VM has none until somebody asks: a file .attach_pid<pid> in /tmp or in the program's working folder, then SIGQUIT.
//! The VM finds the file, and opens /tmp/.java_pid<pid> (without the file SIGQUIT would mean a thread dump). A request is the
//! version of the protocol, a command and three arguments, each ended by a zero byte; the answer is a number in a line of
//! its own, then text to the end.

use std::fs::{self, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::process::Process;
use super::{Error, perf_data};

/// The most bytes of an argument.
pub const LONGEST: usize = 1024;
/// How long a VM may take to open its socket.
const PATIENCE: Duration = Duration::from_secs(15);

/// What the VM answers to a request.
pub struct Answer {
    /// 0 when the VM took the request.
    pub code: i32,
    /// What the request itself had to say.
    pub text: String,
}

/// Sends one request and waits for the answer.
pub fn request(process: &Process, command: &str, arguments: [&str; 3]) -> Result<Answer, Error> {
    if let Some(long) = arguments
        .iter()
        .map(|text| text.len())
        .find(|&length| length > LONGEST)
    {
        return Err(Error::TooLong(long));
    }
    let pid = process.pid();
    let broken = |error| Error::Broken { pid, error };
    let mut socket = connect(process)?;
    let mut request = Vec::new();
    for part in ["1", command].into_iter().chain(arguments) {
        request.extend(part.as_bytes());
        request.push(0);
    }
    socket.write_all(&request).map_err(broken)?;
    let mut answer = Vec::new();
    // No limit here: a profile may take its time to be written.
    socket.read_to_end(&mut answer).map_err(broken)?;
    let answer = String::from_utf8_lossy(&answer);
    let (code, text) = answer.split_once('\n').unwrap_or((&answer, ""));
    match code.trim().parse() {
        Ok(code) => Ok(Answer {
            code,
            text: text.trim_end().to_owned(),
        }),
        Err(_) => Err(Error::Unreadable {
            pid,
            answer: format!("{:.80?}", answer),
        }),
    }
}

fn connect(process: &Process) -> Result<UnixStream, Error> {
    if process.is_stopped() {
        return Err(Error::Stopped(process.pid()));
    }
    let own_path = format!("/tmp/.java_pid{}", process.own_pid());
    let path = process.path(Path::new(&own_path));
    if !is_socket(&path) {
        wake(process, &path)?;
    }
    UnixStream::connect(&path).map_err(|error| match error.kind() {
        ErrorKind::PermissionDenied => Error::AnotherUser {
            pid: process.pid(),
            uid: process.owner().0,
        },
        _ => Error::File {
            path: path.clone(),
            error,
        },
    })
}

fn is_socket(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.file_type().is_socket())
}

/// Has the VM open its socket.
fn wake(process: &Process, socket: &Path) -> Result<(), Error> {
    let pid = process.pid();
    // To such a VM SIGQUIT would be no request, but a thread dump.
    let capabilities = perf_data::of(process).remove("sun.rt.jvmCapabilities");
    let is_told = process
        .command_line()
        .contains("-XX:+DisableAttachMechanism");
    if capabilities.map_or(is_told, |text| text.starts_with('0')) {
        return Err(Error::Disabled(pid));
    }
    if !process.catches_quit() {
        return Err(Error::Deaf(pid));
    }
    let _trigger = Trigger::create(process)?;
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    let signalled = target.map(|target| kill_process(target, Signal::QUIT));
    if !matches!(signalled, Some(Ok(()))) {
        return Err(Error::NoProcess(pid));
    }
    let end = Instant::now() + PATIENCE;
    while !is_socket(socket) {
        if !Path::new(&format!("/proc/{pid}")).exists() {
            return Err(Error::NoProcess(pid));
        }
        if Instant::now() >= end {
            let seconds = PATIENCE.as_secs();
            return Err(Error::NoAnswer { pid, seconds });
        }
        sleep(Duration::from_millis(10));
    }
    Ok(())
}

/// The file that tells SIGQUIT for a request from one for a thread dump. It goes when the VM has answered.
struct Trigger(PathBuf);

impl Trigger {
    fn create(process: &Process) -> Result<Self, Error> {
        let name = format!(".attach_pid{}", process.own_pid());
        let temporary = process.path(Path::new("/tmp")).join(&name);
        let mut failure = None;
        for path in [temporary, process.working_folder().join(&name)] {
            let made = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path);
            match made {
                Ok(_) => return Ok(Self(path)),
                // Another tool is asking at this moment, or died when it did. The VM looks whose it is.
                Err(_) if is_trusted(&path, process) => return Ok(Self(path)),
                Err(error) => failure = Some(Error::File { path, error }),
            }
        }
        failure.map_or(Err(Error::NoProcess(process.pid())), Err)
    }
}

fn is_trusted(path: &Path, process: &Process) -> bool {
    let owner = fs::symlink_metadata(path).map(|metadata| metadata.uid());
    owner.is_ok_and(|owner| owner == 0 || owner == process.owner().0)
}

impl Drop for Trigger {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
