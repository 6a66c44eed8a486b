//! The commands `hprof list`, `attach`, `status`, `dump`, `stop` and `agent-path`.

use std::io::{self, Write};
use std::path::Path;

use hprof_format::printable;
use serde::Serialize;

use super::error::Error;
use super::library::Library;
use super::pause::{Consent, DumpWay};
use super::process::{self, Process};
use super::program::{self, Program};
use super::session::Session;
use super::{agent, perf_data};
use crate::failure::Failure;
use crate::output::Output;

/// The answer to a request without options.
const NO_OPTIONS: &str = "name what to measure: `hprof attach PROGRAM cpu=samples` (the CPU), heap=sites (allocations), \
    heap=dump,format=b (the heap), cpu=times (calls) or monitor=y (contention), with file=NAME; `hprof record PROGRAM` \
    chooses the rest and shows the answer";

/// Start a profile in a running program
///
/// OPTIONS are those of -agentpath: `cpu=samples,interval=5,file=/tmp/a.txt`.
/// A file without a folder goes to the working folder of the program; one that
/// exists is not replaced, unless force=y is among the options. Only the program's
/// own user, and root, may attach.
///
/// Profiles of the heap stop the program when they start and for each dump. About
/// how long is said before; on a terminal more than a second must be agreed to,
/// and more than 0.2 seconds where a fork (dumper=fork) would take less.
///
/// JDK 21 and newer print a warning on the program's stderr: a future JDK will
/// require -XX:+EnableDynamicAgentLoading on the command line of programs that
/// are profiled like this.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub struct Attach {
    /// The program: its process id, or a part of its main class; `hprof list` shows both
    program: Program,

    /// The options of the profile
    options: Option<String>,

    #[command(flatten)]
    consent: Consent,

    #[command(flatten)]
    library: Library,
}

/// Print the path of the agent: -agentpath:$(hprof agent-path)=heap=sites
#[derive(clap::Args)]
pub struct AgentPath {}

/// Show the running JVMs, and which of them have the agent
#[derive(clap::Args)]
pub struct List {
    /// Write JSON
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ListDocument {
    format: &'static str,
    version: u32,
    programs: Vec<Listed>,
}

/// A running JVM.
#[derive(Serialize)]
struct Listed {
    pid: u32,
    jdk: Option<String>,
    has_agent: bool,
    main: String,
    command: String,
}

/// A program with the agent.
#[derive(clap::Args)]
pub struct Running {
    /// The program: its process id, or a part of its main class; `hprof list` shows both
    program: Program,

    #[command(flatten)]
    library: Library,
}

/// A program with the agent, which a dump stops.
#[derive(clap::Args)]
pub struct Dumping {
    #[command(flatten)]
    running: Running,

    /// If the heap is dumped: let the program go on while a forked copy of it writes the dump
    #[arg(long)]
    fork: bool,

    #[command(flatten)]
    consent: Consent,
}

impl Attach {
    /// Starts a profile in the program, loading the agent if necessary.
    pub fn run(&self) -> Result<(), Failure> {
        let Some(options) = &self.options else {
            return Err(Failure::Usage(NO_OPTIONS.to_owned()));
        };
        let session = Session::with(&self.program, &self.library)?;
        let options = session.without_replacing(options)?;
        session.announce_cost(&options);
        let options = session.announce_start(&options, DumpWay::FORK, &self.consent)?;
        say(&session.start(&options)?)
    }
}

impl Dumping {
    /// Writes the profile so far.
    pub fn dump(&self) -> Result<(), Failure> {
        self.send("dump")
    }

    /// Ends the profile.
    pub fn stop(&self) -> Result<(), Failure> {
        self.send("stop")
    }

    fn send(&self, verb: &str) -> Result<(), Failure> {
        let session = self.running.session()?;
        let way = session.announce_dump(DumpWay::of(self.fork), &self.consent)?;
        say(&session.write(verb, way)?)
    }
}

impl Running {
    /// Prints the status.
    pub fn status(&self) -> Result<(), Failure> {
        let process = self.program.find()?;
        match agent::loaded(&process, self.library.named()) {
            // That is an answer, too.
            Err(none @ Error::NoAgent(_)) => say(&none.to_string()),
            _ => say(&self.session()?.status()?),
        }
    }

    fn session(&self) -> Result<Session, Failure> {
        Session::running(&self.program, &self.library)
    }
}

impl AgentPath {
    /// Prints the path of the agent's library.
    pub fn run(&self) -> Result<(), Failure> {
        let library = agent::installed_library()?;
        let mut out = io::stdout().lock();
        // Unescaped, for a shell to read.
        out.write_all(&process::bytes_of(&library))
            .and_then(|()| writeln!(out))
            .map_err(|error| Failure::writing(Path::new("standard output"), &error))
    }
}

impl List {
    /// Lists the JVMs.
    pub fn run(&self) -> Result<(), Failure> {
        let running = process::ids().into_iter().flat_map(Process::find);
        let programs: Vec<Listed> = running.map(|process| Listed::of(&process)).collect();
        if self.json {
            let document = ListDocument {
                format: "hprof-list",
                version: 1,
                programs,
            };
            return Output::open(None, Path::new("-"))?.write(|out| {
                serde_json::to_writer(&mut *out, &document)?;
                writeln!(out)
            });
        }
        let lines: Vec<String> = programs.iter().map(Listed::line).collect();
        if lines.is_empty() {
            return say("no JVM runs that this user may attach to");
        }
        say(&format!(
            "{:>8} {:<10} {:<6} {}\n{}",
            "PID",
            "JDK",
            "AGENT",
            "COMMAND",
            lines.join("\n")
        ))
    }
}

impl Listed {
    fn of(process: &Process) -> Self {
        let facts = perf_data::find(process);
        let command = facts.get(perf_data::COMMAND).cloned();
        Self {
            pid: process.pid(),
            jdk: facts.get(perf_data::VERSION).cloned(),
            has_agent: agent::loaded(process, None).is_ok(),
            main: program::main_class(process),
            command: command.unwrap_or_else(|| process.command_line()),
        }
    }

    fn line(&self) -> String {
        format!(
            "{:>8} {:<10} {:<6} {}",
            self.pid,
            printable(self.jdk.as_deref().unwrap_or("-")),
            if self.has_agent { "yes" } else { "-" },
            printable(&self.command),
        )
    }
}

/// Prints the lines, without control characters.
fn say(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    let mut lines = text.trim_end().lines();
    lines
        .try_for_each(|line| writeln!(out, "{}", printable(line)))
        .and_then(|()| out.flush())
        .map_err(|error| Failure::writing(Path::new("standard output"), &error))
}
