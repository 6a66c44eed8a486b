//! The agent's library, and its commands.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{OpenOptionsExt, fchown};
use std::path::{Path, PathBuf};

use super::process::Process;
use super::{Error, listener};

const LIBRARY: &str = "libhprof.so";

/// The library that the program has loaded, as it sees it. `named` is the one the user speaks of.
pub fn loaded(process: &Process, named: Option<&Path>) -> Result<PathBuf, Error> {
    let pid = process.pid();
    let name = named
        .and_then(Path::file_name)
        .and_then(|name| name.to_str());
    let mut found = Err(Error::NoAgent(pid));
    for (path, is_there) in process.mapped(name.unwrap_or(LIBRARY)) {
        if named.is_some_and(|named| !is_same(process, path, named)) {
            continue;
        }
        if *is_there {
            return Ok(path.clone());
        }
        found = Err(Error::LibraryGone {
            pid,
            path: path.clone(),
        });
    }
    found
}

fn is_same(process: &Process, path: &Path, named: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(process.path(path)).ok();
    let named = std::path::absolute(named).unwrap_or(named.to_owned());
    path == named || real(path).is_some_and(|path| real(&named) == Some(path))
}

/// The library that the program is to load.
pub fn to_load(process: &Process, named: Option<&Path>) -> Result<PathBuf, Error> {
    let library = match named {
        Some(named) => std::path::absolute(named).map_err(|error| Error::File {
            path: named.to_owned(),
            error,
        })?,
        None => beside_this_command()?,
    };
    // A program with a root of its own sees other files.
    if process.path(&library).is_file() {
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

fn beside_this_command() -> Result<PathBuf, Error> {
    let command = std::env::current_exe()
        .and_then(fs::canonicalize)
        .map_err(|error| Error::File {
            path: "hprof".into(),
            error,
        })?;
    let folder = command.parent().unwrap_or(Path::new("/"));
    let installed = folder.parent().unwrap_or(folder).join("lib");
    [folder, &installed]
        .into_iter()
        .map(|folder| folder.join(LIBRARY))
        .find(|library| library.is_file())
        .ok_or(Error::NoLibrary(folder.to_owned()))
}

/// Hands the agent a command and returns what it says; loads it where it is not there.
pub fn command(
    process: &Process,
    library: &Path,
    verb: &str,
    options: &str,
) -> Result<String, Error> {
    let pid = process.pid();
    let reply = Reply::create(process)?;
    let mut command = format!("{verb},reply={}", reply.own_path.display());
    if !options.is_empty() {
        command.push(',');
        command.push_str(options);
    }
    let library = library.to_string_lossy();
    let answer = listener::request(process, "load", [&library, "true", &command])?;
    // Behind the VM's own code comes the agent's, in words.
    let code = answer.text.strip_prefix("return code: ");
    let code = code.and_then(|code| code.trim().parse::<i32>().ok());
    match (answer.code, code, reply.read()) {
        (_, _, Some(Told::Done(text))) => Ok(text),
        (_, _, Some(Told::Refused(text))) => Err(Error::Refused(text)),
        (0, Some(0), None) => Ok(format!(
            "done; what the agent says is on the stderr of process {pid}"
        )),
        (0, Some(code), None) => Err(Error::RefusedSilently { pid, code }),
        (_, _, None) => Err(Error::NotLoaded {
            pid,
            answer: answer.text.replace('\n', " "),
        }),
    }
}

/// A file for the agent's words, which the VM does not pass on. Gone on drop.
struct Reply {
    path: PathBuf,
    own_path: PathBuf,
    file: File,
}

enum Told {
    Done(String),
    Refused(String),
}

impl Reply {
    fn create(process: &Process) -> Result<Self, Error> {
        let name = format!(".hprof-reply-{}-{}", process.own_pid(), std::process::id());
        let own_path = Path::new("/tmp").join(name);
        let path = process.path(&own_path);
        let failed = |error| Error::File {
            path: path.clone(),
            error,
        };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(failed)?;
        let reply = Self {
            path: path.clone(),
            own_path,
            file,
        };
        let (uid, gid) = process.owner();
        if rustix::process::geteuid().as_raw() != uid {
            // This is root's: the program is to write to it. Its path may lead elsewhere by now, in a folder of the
            // program's.
            fchown(&reply.file, Some(uid), Some(gid)).map_err(failed)?;
        }
        Ok(reply)
    }

    fn read(mut self) -> Option<Told> {
        let mut text = String::new();
        self.file.read_to_string(&mut text).ok()?;
        let (outcome, text) = text.split_once('\n')?;
        match outcome {
            "done" => Some(Told::Done(text.to_owned())),
            "refused" => Some(Told::Refused(text.to_owned())),
            _ => None,
        }
    }
}

impl Drop for Reply {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
