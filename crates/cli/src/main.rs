//! `hprof`: reads and shows the HPROF agent's files, receives its profiles, and starts the agent in running programs.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]
// Some functions are used by the commands alone that are left out, or that a system has no agent for.
#![cfg_attr(
    not(all(
        feature = "browse",
        feature = "live",
        feature = "mcp",
        feature = "push",
        feature = "recv",
        target_os = "linux"
    )),
    allow(dead_code, unused_imports)
)]

// Where a system has no agent, `elsewhere` has the same commands, which end with an error. Windows has some of them.
#[cfg_attr(windows, path = "attach/windows/mod.rs")]
#[cfg_attr(target_os = "macos", path = "elsewhere/attach.rs")]
mod attach;
#[cfg(feature = "live")]
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/live.rs")]
mod live;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/memory.rs")]
mod memory;
#[cfg_attr(not(target_os = "linux"), path = "elsewhere/record.rs")]
mod record;

mod about;
mod accounts;
mod allocator;
mod amounts;
mod autopsy;
#[cfg(feature = "browse")]
mod browse;
mod check;
mod diff;
mod duration;
mod export;
mod facts;
mod failure;
mod flame;
mod gauges;
mod growth;
mod heap;
mod help;
mod input;
mod interrupts;
#[cfg(feature = "mcp")]
mod mcp;
mod merge;
mod options;
mod origin;
mod output;
mod packaging;
mod pair;
mod profile;
#[cfg(feature = "push")]
mod push;
mod random;
#[cfg(feature = "recv")]
mod recv;
mod redact;
mod report;
mod size;
mod span;
mod table;
mod terminal;
mod text;
mod top;
mod tree;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{FromArgMatches, Parser, Subcommand};
use hprof_format::printable;

use crate::failure::Failure;

/// The exit status of a comparison that fails.
const CONDITION_MET: u8 = 3;
/// The exit status of a wrong command line, as clap has it.
const WRONG_USAGE: u8 = 2;

#[derive(Parser)]
#[command(
    name = "hprof",
    bin_name = "hprof",
    version,
    about = "Shows where Java programs spend their time and memory, and what their threads wait for",
    long_about = "\
hprof shows where a Java program spends its time, what fills its memory and what
its threads wait for. It profiles programs from their start or while they run,
and reads what the HPROF agent writes, what the JDK's own agent wrote, heap dumps
and recordings of the JDK Flight Recorder.",
    after_help = "\
Examples:
  hprof record -- java Main                what uses the CPU?
  hprof record wall Main --for 30s         where do the threads of a running program wait?
  hprof record alloc Main --for 1m         what does it allocate, and what of it stays?
  hprof live Main                          watch it, like top
  hprof leaks Main                         what fills its heap, and what keeps it?
  hprof memory Main                        where is its memory, heap or not?
  hprof report java.hprof -o java.html     a page for a browser: flame graphs, tables
  hprof diff old.hprof new.hprof           what has changed?
  hprof heap leaks java.hprof              what fills the heap, and what keeps it?
  hprof autopsy java.hprof.txt.blackbox    what did a killed program do last?
  java -agentpath:$(hprof agent-path)=heap=sites Main    profile without hprof record

Profiles compressed with gzip need not be unpacked. Of a file that ends in the
middle of a record, all that is before that is read, and a line says where it ends.

Exit status: 0 the command was carried out, or the file is valid; 1 it was not,
or it is not; 2 wrong usage; 3 a condition of `hprof diff --fail-if` holds."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Arguments),
    #[cfg(feature = "live")]
    Live(live::Arguments),
    Check(check::Arguments),
    Text(text::Arguments),
    Top(top::Arguments),
    Growth(growth::Arguments),
    Tree(tree::Arguments),
    Flame(flame::Arguments),
    Report(report::Arguments),
    Diff(diff::Arguments),
    Merge(merge::Arguments),
    Export(export::Arguments),
    Redact(redact::Arguments),
    Autopsy(autopsy::Arguments),
    #[cfg(feature = "push")]
    Push(push::Arguments),
    #[command(alias = "agent")]
    Options(options::Arguments),
    AgentPath(attach::AgentPath),
    Doctor(attach::Doctor),
    List(attach::List),
    Attach(attach::Attach),
    /// Show if a program is being profiled, since when, and into which file
    Status(attach::Running),
    Memory(memory::Arguments),
    /// Write the profile so far; profiling continues, and totals are kept
    ///
    /// SIGQUIT (`kill -QUIT PID`) writes the same and then starts counting CPU
    /// samples, times and contention anew, as the original did. Sites are always
    /// those of the whole profile.
    #[command(verbatim_doc_comment)]
    Dump(attach::Dumping),
    /// Write a profile and end it; the program continues
    Stop(attach::Dumping),
    #[cfg(feature = "recv")]
    Recv(recv::Arguments),
    Completions(packaging::Completions),
    Manual(packaging::Manual),
    Leaks(heap::LiveLeaks),
    #[command(subcommand)]
    Heap(heap::HeapCommand),
    #[cfg(feature = "browse")]
    Browse(browse::Arguments),
    #[cfg(feature = "mcp")]
    Mcp(mcp::Arguments),
}

fn main() -> ExitCode {
    hprof_os::process::map_large_blocks();
    let matches = help::grouped::<Arguments>().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match arguments.command {
        Command::Record(arguments) => match record::run(&arguments) {
            Ok(status) => return ExitCode::from(status),
            Err(failure) => Err(failure),
        },
        #[cfg(feature = "live")]
        Command::Live(arguments) => live::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Text(arguments) => text::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Growth(arguments) => growth::run(arguments),
        Command::Tree(arguments) => tree::run(&arguments),
        Command::Flame(arguments) => flame::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Redact(arguments) => redact::run(&arguments),
        Command::Autopsy(arguments) => autopsy::run(&arguments),
        #[cfg(feature = "push")]
        Command::Push(arguments) => push::run(&arguments),
        Command::Options(arguments) => options::run(&arguments),
        Command::AgentPath(arguments) => arguments.run(),
        Command::Doctor(arguments) => arguments.run(),
        Command::List(arguments) => arguments.run(),
        Command::Attach(arguments) => arguments.run(),
        Command::Status(arguments) => arguments.status(),
        Command::Memory(arguments) => memory::run(&arguments),
        Command::Dump(arguments) => arguments.dump(),
        Command::Stop(arguments) => arguments.stop(),
        #[cfg(feature = "recv")]
        Command::Recv(arguments) => recv::run(&arguments),
        Command::Completions(arguments) => arguments.run(help::grouped::<Arguments>()),
        Command::Manual(arguments) => arguments.run(&help::grouped::<Arguments>()),
        Command::Leaks(arguments) => arguments.run(),
        Command::Heap(command) => command.run(),
        #[cfg(feature = "browse")]
        Command::Browse(arguments) => browse::run(&arguments),
        #[cfg(feature = "mcp")]
        Command::Mcp(arguments) => mcp::run(&arguments),
    };
    let (message, status) = match result {
        Ok(()) | Err(Failure::ReaderGone) => return ExitCode::SUCCESS,
        Err(Failure::Message(message)) => (message, 1),
        Err(Failure::Condition(message)) => (message, CONDITION_MET),
        Err(Failure::Usage(message)) => (message, WRONG_USAGE),
    };
    // If even this fails, there is nobody left to tell.
    let _ = writeln!(io::stderr(), "hprof: {}", printable(&message));
    ExitCode::from(status)
}
