//! `hprof`: reads the binary files that the HPROF agent writes, receives what it sends, and brings the agent to programs
//! that run already.

#![forbid(unsafe_code)]

mod attach;
mod check;
mod failure;
mod heap;
mod input;
mod private;
mod recv;
mod text;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use hprof_format::printable;

use crate::failure::Failure;

#[derive(Parser)]
#[command(
    version,
    about = "Checks and prints HPROF files: profiles of Java programs in the binary format (format=b)",
    long_about = "\
The HPROF agent writes what it sees of a running Java program into a file: call
stacks, CPU samples, allocation sites, heap dumps. With format=b that file is
compact and made for tools. hprof tells whether such a file is whole and sound,
and turns it into the text that format=a would have written. It also receives
what an agent with net=HOST:PORT sends, and starts and stops profiles in
programs that run already.",
    after_help = "\
Examples:
  java -agentlib:hprof=cpu=samples,format=b,file=java.hprof Main
  hprof check java.hprof          is the file sound? what is in it?
  hprof text java.hprof | less    the profile as text
  hprof heap leaks java.hprof     what keeps the heap full, and who allocated it
  hprof list                      which JVMs run here?
  hprof attach 4711 cpu=samples   profile one that runs already
  hprof stop 4711                 write the profile, leave nothing behind
  hprof check old.hprof.gz        compressed files are read as they are
  hprof recv -l 127.0.0.1:9000 -o java.hprof      an agent with net=localhost:9000

A program that was killed leaves a file that ends in the middle of a record.
`hprof check` then says at which byte the last whole record ends, and
`hprof text` prints everything up to there.

Exit status: 0 the file is sound, or the command was carried out; 1 it is not,
could not be read or written, or was refused; 2 wrong usage."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Check(check::Arguments),
    Text(text::Arguments),
    List(attach::List),
    Attach(attach::Attach),
    /// Say whether a program is being profiled, since when, and into which file
    Status(attach::Running),
    /// Write what a profile has so far; it goes on
    Dump(attach::Running),
    /// Write a profile and end it; nothing of it stays in the program
    Stop(attach::Running),
    Recv(recv::Arguments),
    #[command(subcommand)]
    Heap(heap::Heaps),
}

fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Check(arguments) => check::run(&arguments),
        Command::Text(arguments) => text::run(&arguments),
        Command::List(arguments) => arguments.run(),
        Command::Attach(arguments) => arguments.run(),
        Command::Status(arguments) => arguments.status(),
        Command::Dump(arguments) => arguments.dump(),
        Command::Stop(arguments) => arguments.stop(),
        Command::Recv(arguments) => recv::run(&arguments),
        Command::Heap(command) => command.run(),
    };
    match result {
        Ok(()) | Err(Failure::ReaderGone) => ExitCode::SUCCESS,
        Err(Failure::Message(message)) => {
            // Nobody is left to tell where even this fails.
            let _ = writeln!(io::stderr(), "hprof: {}", printable(&message));
            ExitCode::FAILURE
        }
    }
}
