//! `hprof recv`: the receiver that an agent with `net=host:port` sends its profile to.

mod agent;
mod callers;
mod command;
mod events;
mod forward;
mod many;
mod names;
mod requests;
mod waiting;
mod watch;
mod written;

use std::ffi::OsString;
use std::io::{self, BufRead, ErrorKind, IsTerminal, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::{Duration, Instant};

use hprof_format::{Command, printable};
use hprof_os::{files, folders, signals};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::push::{self, Endpoint, Target};
use crate::size;
use callers::Arrival;
use forward::Forwarding;
use many::{Limits, Wanted};
use names::Pattern;
use watch::Watch;
use written::WrittenFile;

/// The interval at which the progress is shown.
const SHOW: Duration = Duration::from_millis(500);
/// The interval at which the receiver looks if it was interrupted.
const LOOK: Timespec = Timespec {
    tv_sec: 0,
    tv_nsec: 500_000_000,
};
/// The number of bytes that are read at once.
const PIECE: usize = 64 * 1024;
/// The exit status that a shell reports for a program that was interrupted before it had anything to do.
const INTERRUPTED: i32 = 130;

/// Receive the profiles of agents (net=HOST:PORT), and send them commands
///
/// With -o, waits for an agent, writes its profile to a file, and ends when the
/// agent does. A connection that sends something else, or nothing, is not an agent.
/// The file appears under its name when it is finished, readable only by its owner;
/// a truncated profile is kept too, with exit status 1. Ctrl-C finishes the file;
/// the profiled program continues without it.
///
/// With --dir, receives from any number of agents at once, one file each, until
/// Ctrl-C or SIGTERM. A file's name ends in `.part` until it is finished, and it can
/// be read in the meantime. Each event is a line of JSON on the standard output.
///
/// With --otlp, each finished file is forwarded to an OpenTelemetry collector, as by
/// hprof push. The file is kept, whether that succeeds or not.
///
/// With --jfr, a recording of the JDK Flight Recorder is written next to each finished
/// file, as by hprof export --to jfr; its name is that of the file, followed by .jfr.
///
/// Commands for the agent are read from the standard input, one per line, and from
/// --send, as soon as an agent has begun to send its profile. With --dir they go to
/// all agents, or after `@N` to the one that has this number in the events:
#[derive(clap::Args)]
#[command(verbatim_doc_comment, after_help = command::NAMES)]
pub struct Arguments {
    /// The address to listen on; port 0 takes a free port, which is printed
    #[arg(
        short,
        long,
        value_name = "ADDRESS:PORT",
        default_value = "127.0.0.1:0"
    )]
    listen: SocketAddr,

    /// The file to write
    #[arg(
        short,
        long,
        value_name = "FILE",
        conflicts_with = "dir",
        required_unless_present = "dir"
    )]
    output: Option<PathBuf>,

    /// The folder for the files of many agents; it is created if it is missing
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,

    /// The names of the files in it: {peer}, {host}, {port}, {time} and {number} are replaced
    #[arg(
        long,
        value_name = "PATTERN",
        default_value = "{peer}-{time}.hprof",
        requires = "dir",
        conflicts_with = "output"
    )]
    name: Pattern,

    /// The most agents at a time
    #[arg(
        long,
        value_name = "N",
        default_value_t = 10_000,
        requires = "dir",
        conflicts_with = "output"
    )]
    max_agents: usize,

    /// The most bytes of each agent, which is then disconnected; the number may end in k, m or g
    #[arg(long, value_name = "BYTES", value_parser = size::bytes, requires = "dir", conflicts_with = "output")]
    max_bytes: Option<u64>,

    /// The most bytes of all agents together
    #[arg(long, value_name = "BYTES", value_parser = size::bytes, requires = "dir", conflicts_with = "output")]
    max_all_bytes: Option<u64>,

    /// Send this command; may be given several times
    #[arg(short, long, value_name = "COMMAND", value_parser = command::parse)]
    send: Vec<Command>,

    /// Show the progress on stderr even if that is not a terminal
    #[arg(long, conflicts_with = "dir")]
    progress: bool,

    /// Forward received profiles to this OpenTelemetry collector, as in http://localhost:4318
    #[arg(long, value_name = "URL")]
    otlp: Option<Endpoint>,

    /// Write received profiles as recordings of the JDK Flight Recorder, too
    #[arg(long)]
    jfr: bool,

    #[command(flatten)]
    push: push::PushOptions,
}

impl Arguments {
    fn forwarding(&self) -> Forwarding {
        let target = |endpoint| Target::new(endpoint, self.push.clone());
        Forwarding {
            target: self.otlp.clone().map(target),
            recordings: self.jfr,
        }
    }
}

/// Receives from one agent, or from many.
pub fn run(arguments: &Arguments) -> Result<(), Failure> {
    match (&arguments.dir, &arguments.output) {
        (Some(folder), _) => receive_many(arguments, folder),
        (None, Some(output)) => receive_one(arguments, output),
        // clap requires one of the two.
        (None, None) => Ok(()),
    }
}

fn receive_many(arguments: &Arguments, folder: &Path) -> Result<(), Failure> {
    let about = |error| Failure::about(folder, error);
    match std::fs::metadata(folder) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => return Err(Failure::about(folder, "is no folder")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Profiles are for their owner alone, and so is a new folder for them.
            folders::create_private(folder).map_err(about)?;
        }
        Err(error) => return Err(about(error)),
    }
    let failure = |error| Failure::Message(format!("{}: {error}", arguments.listen));
    let listener = TcpListener::bind(arguments.listen).map_err(failure)?;
    let wanted = Wanted {
        folder: folder.to_owned(),
        pattern: arguments.name.clone(),
        limits: Limits {
            agents: arguments.max_agents,
            bytes: arguments.max_bytes,
            all_bytes: arguments.max_all_bytes,
        },
        commands: arguments.send.clone(),
        forwarding: Arc::new(arguments.forwarding()),
    };
    many::collect(&listener, wanted)
}

fn receive_one(arguments: &Arguments, output: &Path) -> Result<(), Failure> {
    // An unwritable output is detected before anyone waits, and nothing is left there if no agent comes.
    drop(create(output)?);
    let agent = Arc::new(Agent::default());
    stop_on_interrupt(agent.clone())?;
    let Arrival { stream, beginning } = wait(arguments.listen)?;
    let peer = stream.peer_addr();
    agent.connect(stream);
    let file = create(output)?;
    let written = WrittenFile::new(output.to_owned(), file.as_file());
    let written = written.map_err(|error| Failure::about(output, error))?;
    let received = Reception {
        agent: agent.clone(),
        file,
        output: output.to_owned(),
        watch: Watch::default(),
        is_broken: false,
        progress: AgentProgress::new(arguments.progress),
    }
    .run(arguments, &beginning);
    // A truncated profile is forwarded too; a file that could not be written has been reported already.
    agent.is_finished.store(true, Ordering::SeqCst);
    if !output.exists() {
        return received;
    }
    let forwarding = arguments.forwarding();
    let sent = peer
        .ok()
        .and_then(|peer| forwarding.push(peer.ip(), &written));
    let recorded = forwarding.record(&written);
    received
        .and(sent.map_or(Ok(()), |sent| sent.map(drop)))
        .and(recorded.map_or(Ok(()), |recorded| recorded.map(drop)))
}

/// Creates a file next to the requested one, which it replaces at the end.
fn create(path: &Path) -> Result<NamedTempFile, Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let Some(name) = path.file_name().filter(|_| !path.is_dir()) else {
        return Err(Failure::about(path, "is no name for a file"));
    };
    // It would be replaced, even /dev/null.
    if std::fs::metadata(path).is_ok_and(|found| !found.is_file()) {
        return Err(Failure::about(path, "exists and is not a regular file"));
    }
    let mut prefix = OsString::from(".");
    prefix.push(name);
    tempfile::Builder::new()
        .prefix(&prefix)
        .suffix(".part")
        .make_in(folder, files::create_new)
        .map_err(|error| Failure::about(path, error))
}

/// Waits for one agent; further connections are refused from then on.
fn wait(address: SocketAddr) -> Result<Arrival, Failure> {
    let failure = |error| Failure::Message(format!("{address}: {error}"));
    let listener = TcpListener::bind(address).map_err(failure)?;
    let address = listener.local_addr().map_err(failure)?;
    // Scripts wait for this line, and read the port from it. It does not matter if nobody reads it.
    let _ = writeln!(io::stdout(), "listening on {address}");
    callers::wait(&listener).map_err(failure)
}

/// Makes an interrupt end the reading, as if the agent had ended.
fn stop_on_interrupt(agent: Arc<Agent>) -> Result<(), Failure> {
    signals::each_time_asked_to_end(move || {
        if agent.is_finished.load(Ordering::SeqCst) {
            std::process::exit(INTERRUPTED);
        }
        agent.interrupted.store(true, Ordering::SeqCst);
        match agent.stream.get() {
            Some(stream) => drop(stream.shutdown(Shutdown::Both)),
            None => std::process::exit(INTERRUPTED),
        }
    })
    .map_err(|error| Failure::Message(format!("cannot wait for an interrupt: {error}")))
}

/// The agent at the other end.
#[derive(Default)]
struct Agent {
    /// Set once it has connected.
    stream: OnceLock<TcpStream>,
    interrupted: AtomicBool,
    /// Set once the file has its final name.
    is_finished: AtomicBool,
    serial: AtomicU32,
}

impl Agent {
    fn connect(&self, stream: TcpStream) {
        // Only set here.
        let _ = self.stream.set(stream);
    }

    fn read(&self, piece: &mut [u8]) -> io::Result<usize> {
        let Some(mut stream) = self.stream.get() else {
            return Ok(0);
        };
        // Not every system ends a call that is already reading when another thread closes the stream.
        while poll(&mut [PollFd::new(stream, PollFlags::IN)], Some(&LOOK))? == 0 {
            if self.interrupted.load(Ordering::SeqCst) {
                return Ok(0);
            }
        }
        stream.read(piece)
    }

    /// Sends a command. A lost connection is noticed when it is read.
    fn send(&self, command: Command) {
        let serial = self.serial.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(mut stream) = self.stream.get() {
            let _ = stream.write_all(&command.encode(serial));
        }
    }

    /// Sends the commands from the standard input.
    fn send_lines(&self, lines: impl BufRead) {
        for line in lines.lines().map_while(Result::ok) {
            match command::parse(&line) {
                Ok(command) => self.send(command),
                Err(_) if line.trim().is_empty() => {}
                Err(message) => say(&message),
            }
        }
    }
}

/// A profile that is being written to the file.
struct Reception {
    agent: Arc<Agent>,
    file: NamedTempFile,
    /// The file's final name.
    output: PathBuf,
    watch: Watch,
    /// `true` if the connection broke.
    is_broken: bool,
    progress: AgentProgress,
}

impl Reception {
    fn run(mut self, arguments: &Arguments, beginning: &[u8]) -> Result<(), Failure> {
        let received = self.receive(arguments, beginning);
        self.progress.end();
        let torn = self.is_broken || self.watch.is_torn();
        let amount = self.watch.amount();
        let output = &self.output;
        let kept = self.file.persist(output);
        kept.map_err(|error| Failure::about(output, error.error))?;
        let was_interrupted = self.agent.interrupted.load(Ordering::SeqCst);
        match received {
            Err(failure) => Err(failure),
            Ok(()) if torn && !was_interrupted => Err(Failure::about(
                output,
                format_args!("the profile was cut off; what came is kept: {amount}"),
            )),
            Ok(()) => {
                let end = if torn { ", the last one cut off" } else { "" };
                say(&format!("{}: {amount}{end}", output.display()));
                Ok(())
            }
        }
    }

    /// Reads until the agent ends, or the connection breaks.
    fn receive(&mut self, arguments: &Arguments, beginning: &[u8]) -> Result<(), Failure> {
        let output = self.output.clone();
        let failure = |error| Failure::about(&output, error);
        self.take(beginning).map_err(failure)?;
        self.start_sending(arguments);
        let mut piece = vec![0; PIECE];
        loop {
            let count = match self.agent.read(&mut piece) {
                Ok(0) => return Ok(()),
                Ok(count) => count,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // The agent did not finish, even if the last record is complete.
                Err(_) => {
                    self.is_broken = true;
                    return Ok(());
                }
            };
            self.take(&piece[..count]).map_err(failure)?;
        }
    }

    fn take(&mut self, piece: &[u8]) -> io::Result<()> {
        self.file.write_all(piece)?;
        self.watch.see(piece);
        self.progress.show(&self.watch);
        Ok(())
    }

    fn start_sending(&self, arguments: &Arguments) {
        for &command in &arguments.send {
            self.agent.send(command);
        }
        let agent = self.agent.clone();
        thread::spawn(move || agent.send_lines(io::stdin().lock()));
    }
}

/// The progress line on stderr.
struct AgentProgress {
    is_wanted: bool,
    is_terminal: bool,
    shown: Option<Instant>,
}

impl AgentProgress {
    fn new(is_asked_for: bool) -> Self {
        let is_terminal = io::stderr().is_terminal();
        Self {
            is_wanted: is_asked_for || is_terminal,
            is_terminal,
            shown: None,
        }
    }

    fn show(&mut self, watch: &Watch) {
        let is_recent = |shown: Instant| shown.elapsed() < SHOW;
        if !self.is_wanted || self.shown.is_some_and(is_recent) {
            return;
        }
        self.shown = Some(Instant::now());
        let (start, end) = if self.is_terminal {
            ("\r", "")
        } else {
            ("", "\n")
        };
        let _ = write!(io::stderr(), "{start}{}{end}", watch.amount());
    }

    fn end(&self) {
        if self.is_terminal && self.shown.is_some() {
            let _ = writeln!(io::stderr());
        }
    }
}

fn say(message: &str) {
    let _ = writeln!(io::stderr(), "hprof: {}", printable(message));
}
