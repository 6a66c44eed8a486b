//! A profile in a running program, from its start to its end.

use std::os::unix::net::UnixStream;
use std::path::Path;

use super::client_socket::ClientSocket;
use super::process::Process;
use super::program::{Program, main_class};
use super::threads::{self, ThreadTime};
use super::{Error, Library, agent};
use crate::failure::Failure;

/// A running program that this command profiles.
pub struct Session {
    process: Process,
    /// The agent's path, as the program sees it.
    library: std::path::PathBuf,
}

impl Session {
    /// Finds the program and a library for it, and takes on the rights of the program's user.
    pub fn with(program: &Program, library: &Library) -> Result<Self, Failure> {
        let process = program.find()?;
        let named = library.agent.as_deref();
        let library = match agent::loaded(&process, named) {
            Err(Error::NoAgent(_)) => agent::to_load(&process, named)?,
            library => library?,
        };
        process.act_as_its_user()?;
        Ok(Self { process, library })
    }

    /// Starts the profile; returns the agent's answer.
    pub fn start(&self, options: &str) -> Result<String, Failure> {
        Ok(agent::command(
            &self.process,
            &self.library,
            "start",
            options,
        )?)
    }

    /// Starts a profile that goes to this process over a connection of its own, with these options beside `live=`.
    pub fn start_live(&self, options: &str) -> Result<UnixStream, Failure> {
        let socket = ClientSocket::create(&self.process)?;
        let path = socket.own_path();
        self.start(&format!("{options},live={}", path.display()))?;
        let accepted = socket.accept(&self.process);
        if accepted.is_err() {
            // Nobody else would end it.
            let _ = self.stop();
        }
        Ok(accepted?)
    }

    /// Returns the program's threads, and the CPU time that each has used.
    pub fn threads(&self) -> Vec<ThreadTime> {
        threads::all(&self.process)
    }

    /// Returns what the VM says of a thread: its name, its state and its stack. The program stops for a moment.
    pub fn stack(&self, thread: u32) -> Result<Vec<String>, Failure> {
        Ok(threads::stack(&self.process, thread)?)
    }

    /// Returns the process id.
    pub fn process(&self) -> u32 {
        self.process.pid()
    }

    /// Returns the main class; empty if it is unknown.
    pub fn main_class(&self) -> String {
        main_class(&self.process)
    }

    /// Ends the profile.
    pub fn stop(&self) -> Result<(), Failure> {
        agent::command(&self.process, &self.library, "stop", "")?;
        Ok(())
    }

    /// Returns `true` if the program has ended.
    pub fn is_over(&self) -> bool {
        self.process.has_ended()
    }

    /// As [`Session::is_over`], and waits a little for a program that has closed its files.
    pub fn is_ending(&self) -> bool {
        self.process.is_ending()
    }

    /// Returns the main class and the process id.
    pub fn name(&self) -> String {
        let pid = self.process.pid();
        match main_class(&self.process) {
            class if class.is_empty() => format!("process {pid}"),
            class => format!("{class} (process {pid})"),
        }
    }

    /// Returns an error unless the program sees the same folder at this path.
    pub fn check_sees(&self, folder: &Path) -> Result<(), Failure> {
        let theirs = self.process.view().find(folder);
        let is_same = theirs.is_ok_and(|theirs| theirs.is_at(folder));
        if is_same {
            return Ok(());
        }
        Err(Failure::about(
            folder,
            format_args!(
                "process {} does not see this folder: it has a file system of its own (a container); name a folder that \
                 both have with --dir, or use `hprof attach`",
                self.process.pid()
            ),
        ))
    }
}
