//! A profile in a running program, from its start to its end.

use std::path::Path;

use super::process::Process;
use super::program::{Program, main_class};
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

    /// Ends the profile.
    pub fn stop(&self) -> Result<(), Failure> {
        agent::command(&self.process, &self.library, "stop", "")?;
        Ok(())
    }

    /// Returns `true` if the program has ended.
    pub fn is_over(&self) -> bool {
        self.process.has_ended()
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
