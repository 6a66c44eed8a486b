//! `hprof`: reads and shows the HPROF agent's files, receives its profiles, and starts the agent in running programs.

#![deny(
    clippy::cast_possible_truncation,
    clippy::cast_possible_wrap,
    clippy::cast_sign_loss
)]

mod about;
mod allocator;
mod amounts;
mod attach;
mod autopsy;
mod browse;
mod check;
mod diff;
mod duration;
mod export;
mod facts;
mod failure;
mod flame;
mod growth;
mod heap;
mod input;
mod interrupts;
mod live;
mod mcp;
mod merge;
mod options;
mod output;
mod packaging;
mod pair;
mod private_file;
mod profile;
mod push;
mod random;
mod record;
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

use clap::{CommandFactory, Parser, Subcommand};
use hprof_format::printable;

use crate::failure::Failure;

/// The exit status of a comparison that fails.
const CONDITION_MET: u8 = 3;
/// The exit status of a wrong command line, as clap has it.
const WRONG_USAGE: u8 = 2;

#[derive(Parser)]
#[command(
    name = "hprof",
    version,
    about = "Checks, shows, compares and converts HPROF files: profiles of Java programs",
    long_about = "\
The HPROF agent records what a running Java program does: CPU samples, call
times, allocation sites, heap dumps. With format=b it writes compact files for
tools. hprof checks that such a file is complete and valid, and converts it to
the text that format=a would have written. From files in either format, and from
those of the JDK's own agent, it shows what costs most, who calls it and what has
changed, and it writes the formats of other viewers. It also receives what an
agent with net=HOST:PORT sends, and starts and stops profiles in programs that
are already running.",
    after_help = "\
Examples:
  hprof record -- java Main       profile a program, and show the answer
  hprof record alloc Main --for 30s               one that is already running
  hprof live Main                 watch it, like top
  java -agentlib:hprof=cpu=samples,format=b,file=java.hprof Main
  hprof check java.hprof          is the file valid? what is in it?
  hprof text java.hprof | less    the profile as text
  hprof top java.hprof            what costs most? by method, class, thread, ...
  hprof growth java.hprof         which sites leak?
  hprof tree java.hprof --callers MyClass.slow    who calls it?
  hprof flame java.hprof -o java.svg              a flame graph
  hprof report java.hprof -o java.html            everything, as a page for a browser
  hprof diff old.hprof new.hprof  what has changed?
  hprof export java.hprof --to pprof -o java.pb.gz
  hprof export --to parquet -o tables *.hprof     tables for DuckDB and Spark
  hprof push --otlp http://localhost:4318 java.hprof
  hprof heap leaks java.hprof     what fills the heap, and who allocated it
  java -agentpath:$(hprof agent-path)=heap=sites Main     profile a program
  hprof options                   what the agent can measure, and how
  hprof doctor                    what works here, and why the rest does not
  hprof redact java.hprof -o out.hprof            a dump without its content
  hprof autopsy java.hprof.txt.blackbox           what a killed program has left
  hprof browse java.hprof         a heap dump in a browser, with links between objects
  hprof mcp profiles/             answers for an assistant, over MCP
  hprof list                      which JVMs run here?
  hprof attach 4711 cpu=samples   profile a running program
  hprof stop 4711                 write the profile, leave nothing behind
  hprof check old.hprof.gz        compressed files need not be unpacked
  hprof recv -l 127.0.0.1:9000 -o java.hprof      an agent with net=localhost:9000

A program that was killed leaves a file that ends in the middle of a record.
`hprof check` then says at which byte the last whole record ends, and
`hprof text` prints everything up to there.

Exit status: 0 the file is valid, or the command was carried out; 1 it is not,
could not be read or written, or was refused; 2 wrong usage; 3 a condition of
`hprof diff --fail-if` holds."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Record(record::Arguments),
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
    Push(push::Arguments),
    #[command(alias = "agent")]
    Options(options::Arguments),
    AgentPath(attach::AgentPath),
    Doctor(attach::Doctor),
    List(attach::List),
    Attach(attach::Attach),
    /// Show if a program is being profiled, since when, and into which file
    Status(attach::Running),
    /// Write the profile so far; profiling goes on, and totals are kept
    ///
    /// SIGQUIT (`kill -QUIT PID`) writes the same and then starts counting CPU
    /// samples, times and contention anew, as the original did. Sites are always
    /// those of the whole profile.
    #[command(verbatim_doc_comment)]
    Dump(attach::Dumping),
    /// Write a profile and end it, leaving nothing behind in the program
    Stop(attach::Dumping),
    Recv(recv::Arguments),
    Completions(packaging::Completions),
    Manual(packaging::Manual),
    #[command(subcommand)]
    Heap(heap::HeapCommand),
    Browse(browse::Arguments),
    Mcp(mcp::Arguments),
}

fn main() -> ExitCode {
    allocator::map_large_blocks();
    let result = match Arguments::parse().command {
        Command::Record(arguments) => match record::run(&arguments) {
            Ok(status) => return ExitCode::from(status),
            Err(failure) => Err(failure),
        },
        Command::Live(arguments) => live::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Text(arguments) => text::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Growth(arguments) => growth::run(&arguments),
        Command::Tree(arguments) => tree::run(&arguments),
        Command::Flame(arguments) => flame::run(&arguments),
        Command::Report(arguments) => report::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Merge(arguments) => merge::run(&arguments),
        Command::Export(arguments) => export::run(&arguments),
        Command::Redact(arguments) => redact::run(&arguments),
        Command::Autopsy(arguments) => autopsy::run(&arguments),
        Command::Push(arguments) => push::run(&arguments),
        Command::Options(arguments) => options::run(&arguments),
        Command::AgentPath(arguments) => arguments.run(),
        Command::Doctor(arguments) => arguments.run(),
        Command::List(arguments) => arguments.run(),
        Command::Attach(arguments) => arguments.run(),
        Command::Status(arguments) => arguments.status(),
        Command::Dump(arguments) => arguments.dump(),
        Command::Stop(arguments) => arguments.stop(),
        Command::Recv(arguments) => recv::run(&arguments),
        Command::Completions(arguments) => arguments.run(Arguments::command()),
        Command::Manual(arguments) => arguments.run(&Arguments::command()),
        Command::Heap(command) => command.run(),
        Command::Browse(arguments) => browse::run(&arguments),
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
