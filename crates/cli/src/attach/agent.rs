//! The agent's library, and its commands.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use hprof_os::AGENT_LIBRARY;

use super::answer::Answered;
use super::error::Error;
use super::limit::Limit;
use super::listener;
use super::process::{self, Process};
use super::protocol::LONGEST_ANSWER;
use super::reply::Reply;

/// Returns the path of the library that the program has loaded, in the program's file system. `named` is the one the
/// user gave.
pub fn loaded(process: &Process, named: Option<&Path>) -> Result<PathBuf, Error> {
    let pid = process.pid();
    let name = named
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    let mut found = Err(Error::NoAgent(pid));
    let files = process.mapped(name.unwrap_or(AGENT_LIBRARY));
    for (path, is_there) in files.map_err(|_| Error::NoProcess(pid))? {
        if named.is_some_and(|named| !is_same(process, &path, named)) {
            continue;
        }
        if is_there {
            return Ok(path);
        }
        found = Err(Error::LibraryGone { pid, path });
    }
    found
}

fn is_same(process: &Process, path: &Path, named: &Path) -> bool {
    let named = std::path::absolute(named).unwrap_or(named.to_owned());
    path == named || process.has_same_file(path, &named)
}

/// Returns the path of the library that the program is to load.
pub fn to_load(process: &Process, named: Option<&Path>) -> Result<PathBuf, Error> {
    let library = match named {
        Some(named) => std::path::absolute(named).map_err(|error| Error::File {
            path: named.to_owned(),
            error,
        })?,
        None => installed_library()?,
    };
    // A program with a different root sees other files.
    if process.is_regular(&library) == Some(true) {
        return Ok(library);
    }
    if library.is_file() {
        return Err(Error::NotVisible {
            pid: process.pid(),
            path: library,
        });
    }
    Err(Error::File {
        path: library,
        error: ErrorKind::NotFound.into(),
    })
}

/// Returns the library installed with this command.
pub fn installed_library() -> Result<PathBuf, Error> {
    let command = process::path_of_this_command().map_err(|error| Error::File {
        path: "hprof".into(),
        error,
    })?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let installed = folder.parent().unwrap_or(folder).join("lib");
    [folder, &installed]
        .into_iter()
        .map(|folder| folder.join(AGENT_LIBRARY))
        .find(|library| library.is_file())
        .ok_or(Error::NoLibrary(folder.to_owned()))
}

/// What a VM from JDK 26 on answers while it starts.
const STARTING: &str = "only permitted in the live phase";
/// The longest that a VM may take to start.
const STARTS_WITHIN: Duration = Duration::from_secs(8);
/// The time between two requests to one that is starting.
const PAUSE: Duration = Duration::from_millis(100);

/// A command to the agent.
#[derive(Clone, Copy)]
pub struct Command<'a> {
    /// The action, such as `start`.
    pub verb: &'a str,
    /// Its options, as in `-agentpath:`; empty for none.
    pub options: &'a str,
}

/// Sends the agent a command, and returns its answer if that comes in time; loads the agent if necessary. A VM that is
/// starting is waited for.
pub fn command(
    process: &Process,
    library: &Path,
    command: Command<'_>,
    limit: Duration,
) -> Result<String, Error> {
    let start = Limit::start(process.pid(), STARTS_WITHIN);
    loop {
        let answered = send(process, library, command, limit);
        let is_starting = match &answered {
            Err(Error::Deaf(_)) => true,
            Err(Error::NotLoaded { answer, .. }) => answer.contains(STARTING),
            _ => false,
        };
        if !is_starting {
            return answered;
        }
        match start.check() {
            Ok(()) => thread::sleep(PAUSE),
            Err(interrupted @ Error::Interrupted(_)) => return Err(interrupted),
            Err(_) => return answered,
        }
    }
}

fn send(
    process: &Process,
    library: &Path,
    Command { verb, options }: Command<'_>,
    limit: Duration,
) -> Result<String, Error> {
    let pid = process.pid();
    let reply = Reply::create(process)?;
    let mut command = format!("{verb},reply={}", reply.own_path().display());
    if !options.is_empty() {
        command.push(',');
        command.push_str(options);
    }
    let library = library.to_string_lossy();
    let arguments = [&*library, "true", &command];
    let answer = listener::request(process, "load", arguments, (limit, LONGEST_ANSWER));
    // The agent's answer is valid, even if its program has ended since.
    match reply.read(pid)? {
        Some(Answered::Done(text)) => return Ok(text),
        Some(Answered::Refused(text)) => return Err(Error::Refused(text)),
        None => {}
    }
    let answer = answer?;
    // After the VM's own code comes the agent's, in words.
    let code = answer.text.strip_prefix("return code: ");
    let code = code.and_then(|code| code.trim().parse::<i32>().ok());
    match (answer.code, code) {
        (0, Some(0)) => Ok(format!(
            "done; what the agent says is on the stderr of process {pid}"
        )),
        (0, Some(code)) => Err(Error::RefusedSilently { pid, code }),
        _ => Err(Error::NotLoaded {
            pid,
            answer: answer.text.replace('\n', " "),
        }),
    }
}
