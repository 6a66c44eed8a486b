//! The commands for running programs, on systems without an agent: errors that name the system.

use std::convert::Infallible;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[path = "no_agent.rs"]
mod no_agent;

use crate::failure::Failure;
pub use no_agent::{NoAgent, no_agent};

/// The commands that need the agent.
const COMMANDS: &str = "record, live, list, attach, status, dump, stop, agent-path, and leaks and heap of a running program";

/// Start a profile in a running program (on Linux and Windows)
#[derive(clap::Args)]
pub struct Attach {
    #[command(flatten)]
    _any: NoAgent,
}

/// Print the path of the agent (on Linux and Windows)
#[derive(clap::Args)]
pub struct AgentPath {
    #[command(flatten)]
    _any: NoAgent,
}

/// Show the running JVMs, and which of them have the agent (on Linux and Windows)
#[derive(clap::Args)]
pub struct List {
    #[command(flatten)]
    _any: NoAgent,
}

/// A program with the agent.
#[derive(clap::Args)]
pub struct Running {
    #[command(flatten)]
    _any: NoAgent,
}

/// A program with the agent, which a dump stops.
#[derive(clap::Args)]
pub struct Dumping {
    #[command(flatten)]
    _any: NoAgent,
}

impl Attach {
    /// Says that there is no agent.
    pub fn run(&self) -> Result<(), Failure> {
        Err(no_agent())
    }
}

impl AgentPath {
    /// Says that there is no agent.
    pub fn run(&self) -> Result<(), Failure> {
        Err(no_agent())
    }
}

impl List {
    /// Says that there is no agent.
    pub fn run(&self) -> Result<(), Failure> {
        Err(no_agent())
    }
}

impl Running {
    /// Says that there is no agent.
    pub fn status(&self) -> Result<(), Failure> {
        Err(no_agent())
    }
}

impl Dumping {
    /// Says that there is no agent.
    pub fn dump(&self) -> Result<(), Failure> {
        Err(no_agent())
    }

    /// Says that there is no agent.
    pub fn stop(&self) -> Result<(), Failure> {
        Err(no_agent())
    }
}

/// Report which features work here, and why the others do not
#[derive(clap::Args)]
pub struct Doctor {
    #[command(flatten)]
    _any: NoAgent,
}

impl Doctor {
    /// Prints what works; fails, because some commands do not.
    pub fn run(&self) -> Result<(), Failure> {
        let name = hprof_os::NAME;
        let mut out = io::stdout().lock();
        writeln!(out, "ok    files      all commands that read files work on {name}")
            .and_then(|()| {
                writeln!(out, "no    programs   there is no agent for {name}; these commands work on Linux: {COMMANDS}")
            })
            .and_then(|()| out.flush())
            .map_err(|error| Failure::writing(Path::new("standard output"), &error))?;
        let message = "1 check failed, see above";
        Err(Failure::Message(message.to_owned()))
    }
}

/// The agent's library.
#[derive(Default, clap::Args)]
pub struct Library {
    #[arg(long = "agent", value_name = "FILE", hide = true)]
    agent: Option<PathBuf>,
}

impl Library {
    /// Returns the path that was given.
    pub fn named(&self) -> Option<&Path> {
        self.agent.as_deref()
    }
}

/// The user's consent to a pause of a program.
#[derive(Default, clap::Args)]
pub struct Consent {
    #[arg(long, hide = true)]
    _yes: bool,
}

/// The name of a program.
#[derive(Clone)]
pub struct Program;

impl FromStr for Program {
    type Err = Infallible;

    fn from_str(_: &str) -> Result<Program, Infallible> {
        Ok(Program)
    }
}

/// A dump of a running program, of which there is none.
pub struct LiveDump(Infallible);

impl LiveDump {
    /// Says that there is no agent.
    pub fn of(_: &Program, _: &Library, _: &Consent) -> Result<LiveDump, Failure> {
        Err(no_agent())
    }

    /// Returns the path of the dump.
    pub fn path(&self) -> &Path {
        match self.0 {}
    }
}

/// Says that there is no agent.
pub fn check_sees(_: u32, _: &Path) -> Result<(), Failure> {
    Err(no_agent())
}
