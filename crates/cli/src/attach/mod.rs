//! Profiles of running programs: `hprof list`, `attach`, `status`, `dump` and `stop`.
//!
//! `process` reads /proc, `threads` the CPU time of threads, `perf_data` the data that a VM publishes; `listener` is the VM's attach socket, `client_socket` that of `hprof live`,
//! and `limit` how long they wait; `agent` finds
//! the library and sends it commands. The program may be hostile, and the user may be root: `view` accesses its files
//! safely, and its answers are read up to a limit and printed without control characters.

mod agent;
mod client_socket;
mod doctor;
mod limit;
mod listener;
mod live_dump;
mod pause;
mod perf_data;
mod process;
mod program;
mod session;
mod threads;
mod view;

use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use hprof_format::printable;
use serde::Serialize;

use crate::failure::Failure;
use crate::output::Output;
pub use doctor::Doctor;
pub use live_dump::LiveDump;
pub use pause::{Consent, DumpWay};
use process::Process;
pub use program::Program;
pub use session::Session;
pub use threads::ThreadTime;
use view::Folder;

/// The folder in which a VM has its files for clients that attach.
const TEMPORARY: &str = "/tmp";
/// The answer to a request without options.
const NO_OPTIONS: &str = "name what to measure: `hprof attach PROGRAM cpu=samples` (the CPU), heap=sites (allocations), \
    heap=dump,format=b (the heap), cpu=times (calls) or monitor=y (contention), with file=NAME; `hprof record PROGRAM` \
    chooses the rest and shows the answer";
/// The most bytes of an answer.
const LONGEST_ANSWER: u64 = 64 << 10;

/// The reason a program cannot be reached, or its refusal.
#[derive(Debug, thiserror::Error)]
enum Error {
    #[error("no process {0}")]
    NoProcess(u32),
    #[error(
        "no running program has `{name}` in the name of its main class or jar{}; `hprof list` shows them",
        .nearest.as_ref().map_or(String::new(), |nearest| format!(": did you mean `{nearest}`?"))
    )]
    NoSuchProgram {
        name: String,
        nearest: Option<String>,
    },
    #[error("`{name}` may be {programs}: name one by its process id")]
    Ambiguous { name: String, programs: String },
    #[error("process {pid} belongs to user {uid}: only that user, and root, may attach to it")]
    AnotherUser { pid: u32, uid: u32 },
    #[error("process {0} is not a JVM")]
    NotAJvm(u32),
    #[error(
        "process {0} is stopped (SIGSTOP); it cannot answer until it continues (kill -CONT {0})"
    )]
    Stopped(u32),
    #[error("process {0} does not allow attaching (-XX:+DisableAttachMechanism)")]
    Disabled(u32),
    #[error("process {0} does not accept requests yet: it is still starting")]
    Deaf(u32),
    #[error(
        "process {pid} did not answer within {seconds} s: it is very busy, held by a debugger, or does not allow attaching \
         (-XX:+DisableAttachMechanism)"
    )]
    NoAnswer { pid: u32, seconds: u64 },
    #[error(
        "interrupted before process {0} answered; it may still carry out what it was asked for"
    )]
    Interrupted(u32),
    #[error("{}: {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    #[error("{} of process {pid}: {error}", path.display())]
    Theirs {
        pid: u32,
        path: PathBuf,
        error: io::Error,
    },
    #[error(
        "process {pid} belongs to user {uid}, and this command could not take on that user's rights: {error}"
    )]
    NotItsUser {
        pid: u32,
        uid: u32,
        error: io::Error,
    },
    #[error("process {pid} cannot be sent a signal: {error}")]
    NoSignal { pid: u32, error: io::Error },
    #[error("{} of process {pid} is not a socket: somebody else has put it there; nothing was sent", socket.display())]
    NoSocket { pid: u32, socket: PathBuf },
    #[error(
        "{} of process {pid} belongs to user {uid}, not to the program's user: somebody else has created it; nothing was sent",
        socket.display()
    )]
    ForeignSocket { pid: u32, socket: PathBuf, uid: u32 },
    #[error(
        "{} as process {pid} sees it: {error}: it belongs to user {uid}, not to the program's user; another process that has the same \
         number in its container made it, and may still use it; nothing was sent",
        socket.display()
    )]
    LeftSocket {
        pid: u32,
        socket: PathBuf,
        uid: u32,
        error: io::Error,
    },
    #[error(
        "{} of process {pid} leads to another process: {peer} of user {uid} (0 is one that cannot be seen from here); \
         nothing was sent", socket.display()
    )]
    ForeignPeer {
        pid: u32,
        socket: PathBuf,
        peer: i32,
        uid: u32,
    },
    #[error("process {0} ended before it answered")]
    Ended(u32),
    #[error(
        "process {0} closed the connection without an answer: its VM does not accept requests from this user"
    )]
    NoWord(u32),
    #[error("the answer of process {0} is longer than {max} bytes, the most that is read", max = LONGEST_ANSWER)]
    TooMuch(u32),
    #[error("the connection to process {pid} broke: {error}")]
    Broken { pid: u32, error: io::Error },
    #[error("process {pid} sent an answer that cannot be understood: {answer}")]
    Unreadable { pid: u32, answer: String },
    #[error("the options are {0} bytes long; a running VM accepts at most {max}", max = listener::LONGEST)]
    TooLong(usize),
    #[error("libhprof.so is neither in {} nor in the ../lib next to it: name it with --agent", .0.display())]
    NoLibrary(PathBuf),
    #[error(
        "process {pid} does not see {}: it has a file system of its own (a container); copy libhprof.so into it, and \
         name it with --agent as the process sees it", path.display()
    )]
    NotVisible { pid: u32, path: PathBuf },
    #[error(
        "{}: process {pid} does not see this folder: it has a file system of its own (a container); name a folder that \
         both have, or use `hprof attach`", folder.display()
    )]
    NotSeen { pid: u32, folder: PathBuf },
    #[error("no profile is running in process {0}: the agent is not loaded")]
    NoAgent(u32),
    #[error(
        "the library that process {pid} runs, {}, has been removed or replaced since: its profile ends with the program",
        path.display()
    )]
    LibraryGone { pid: u32, path: PathBuf },
    #[error("the VM of process {pid} did not load the agent: {answer}")]
    NotLoaded { pid: u32, answer: String },
    #[error("{0}")]
    Refused(String),
    #[error("the agent refused (return code {code}); the reason is on the stderr of process {pid}")]
    RefusedSilently { pid: u32, code: i32 },
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::Ambiguous { .. } => Failure::Usage(error.to_string()),
            _ => Failure::Message(error.to_string()),
        }
    }
}

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

/// The agent's library.
#[derive(Default, clap::Args)]
pub struct Library {
    /// The agent, libhprof.so, as the program sees it [default: the one the program has, or the one next to
    /// this command]
    #[arg(long, value_name = "FILE")]
    agent: Option<PathBuf>,
}

impl Library {
    /// Returns the path that was given.
    pub fn named(&self) -> Option<&Path> {
        self.agent.as_deref()
    }

    /// Returns the path of the library for a program that is yet to start.
    pub fn for_new_program(&self) -> Result<PathBuf, Failure> {
        let Some(named) = &self.agent else {
            return Ok(agent::beside_this_command()?);
        };
        let about = |error| Failure::about(named, error);
        named.canonicalize().map_err(about)
    }
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
        match agent::loaded(&process, self.library.agent.as_deref()) {
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
        let library = agent::beside_this_command()?;
        let mut out = io::stdout().lock();
        // Unescaped, for a shell to read.
        out.write_all(library.as_os_str().as_bytes())
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

/// Returns an error unless the program sees the same folder at this path.
pub fn check_sees(pid: u32, folder: &Path) -> Result<(), Failure> {
    Ok(Process::find(pid)?.check_sees(folder)?)
}

/// Returns `true` if this is a running JVM that has loaded the agent.
pub fn is_profiled(pid: u32) -> bool {
    Process::find(pid).is_ok_and(|process| agent::loaded(&process, None).is_ok())
}

/// Returns the program's folder for such files.
fn temporary(process: &Process) -> Result<Folder, Error> {
    let folder = process.view().folder(Path::new(TEMPORARY));
    folder.map_err(|error| Error::Theirs {
        pid: process.pid(),
        path: TEMPORARY.into(),
        error,
    })
}

/// Reads a program's answer to the end; `None` if it is too long.
fn bounded(source: impl Read, longest: u64) -> io::Result<Option<String>> {
    let mut said = Vec::new();
    source.take(longest + 1).read_to_end(&mut said)?;
    let is_bounded = said.len() as u64 <= longest;
    Ok(is_bounded.then(|| String::from_utf8_lossy(&said).into_owned()))
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
